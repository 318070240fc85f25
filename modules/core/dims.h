// The letters that name dimensions everywhere in gaze; a loop variable is the same letter in lower case.
//
//   B  batch                     T  queries (tokens that look)
//   C  channels                  S  keys    (tokens that are looked at)
//   H  rows of a map             N  heads
//   W  columns of a map          D  width of a token
//   R  hidden width of a squeeze (C / reduction)
//   K  classes                   V  words of a vocabulary
//
// Pictures and features are [B, C, H, W] logically; their memory may be channels-last.
#pragma once
