// What a decoder keeps of the tokens so far: their keys and values, in room that is made ahead.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace gaze {

// Keys and values of a number of tokens, of one attention layer.
struct ProjectedMemory {
  torch::Tensor keys;    // [B, N, S, D/N]
  torch::Tensor values;  // [B, N, S, D/N]
};

// Row i becomes what row rows[i] was. Where as many rows stay, `changed` are those that become another's, and
// `from` theirs: few in a beam that has settled.
struct RowOrder {
  // rows [R'] int64 in 0 .. before - 1.
  RowOrder(const torch::Tensor& rows, int64_t before);

  bool keeps_all() const { return same_count && changed.numel() == 0; }

  torch::Tensor rows;
  bool same_count = false;
  torch::Tensor changed, from;  // [C] int64 each; undefined unless same_count
};

// Room for twice as many tokens is made when it is full, so that a token costs the same however many there
// are.
class TokenCache {
 public:
  // Of R rows, no token yet; width D, and dtype and device of `like`.
  TokenCache(int64_t rows, int64_t width, const torch::Tensor& like);

  // keys and values [R, 1, D] of the next token.
  void append(const torch::Tensor& keys, const torch::Tensor& values);

  // All tokens so far by head, sharing the cache's memory: [R, N, T, D/N].
  ProjectedMemory read(int64_t heads) const;

  void reorder(const RowOrder& order);

  int64_t rows() const { return room_.size(0); }
  int64_t length() const { return length_; }  // T

 private:
  torch::Tensor room_;  // [R, 2, places, D]: keys, values
  int64_t length_ = 0;
};

}  // namespace gaze
