// Patterns of dotted names: "layer[34].*.attn", "*.{pre,post}", "layer3.[2-5].conv", "layer3.-1.attn".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gaze::models {

// Names to choose from, and how a message speaks of them.
struct NameList {
  std::string op;    // "insert"
  std::string what;  // "slot of resnet18"
  std::vector<std::string> names;
  // Last words that no wildcard reaches: a pattern has to end in them ("conv").
  std::vector<std::string> spelled_out;
};

// Indices of the names that match, ascending.
//
//   *        any run of characters, dots too      ?       any character
//   [34]     one of these; [!34] none of them     {a,b}   either; so do commas outside of braces
//   [2-12]   a whole number from 2 to 12          -1      the largest number that a name has in this place,
//   [-3--1]  the last three                       -2      the one before
//   1[2-5]   behind a digit, one of these digits
//
// Throws ArgumentError for a pattern that is not one, and where one of the alternatives matches nothing, with
// the names nearest to it.
std::vector<size_t> match_names(const NameList& list, const std::string& pattern);

}  // namespace gaze::models
