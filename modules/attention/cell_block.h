// A block whose cells look around: what mha and cross share.
#pragma once

#include <cstdint>

#include "modules/attention/block.h"
#include "modules/attention/multi_head_attention.h"
#include "modules/attention/spec.h"

namespace gaze {

struct CellBlockOptions {
  int64_t channels = 0;     // C
  int64_t heads = 8;        // N, divides width
  int64_t width = 0;        // D, of queries, keys and values; 0: channels
  bool bias = true;         // of all four projections
  Init init = Init::paper;  // identity starts the last projection at 0
};

namespace detail {

// The cells of a map as tokens: [B, C, H, W] -> [B, H·W, C], row by row.
torch::Tensor cells_of(const torch::Tensor& x);

// y = x + out(attend(cells of x over the tokens of a memory)). State keys: attention.{query, key, value,
// out}.{weight, bias}, those of MultiHeadAttention.
class CellBlock : public AttentionBlock {
 protected:
  // Throws ArgumentError in the name of `block`.
  CellBlock(const CellBlockOptions& options, int64_t memory_channels, const char* block,
            int64_t grid_relative = 0);

  // cells [B, H·W, C] of x; memory [B, S, M], which may be the same tensor.
  torch::Tensor add_attended(const torch::Tensor& x, const torch::Tensor& cells, const torch::Tensor& memory);

  // The same over the cells of x itself, which know where they are with grid_relative.
  torch::Tensor add_self_attended(const torch::Tensor& x);

  int64_t attention_macs(int64_t cells, int64_t memory_cells) const;

 private:
  // x + what its cells saw [B, H·W, C]
  static torch::Tensor add_cells(const torch::Tensor& x, const torch::Tensor& seen);

  MultiHeadAttention attention_{nullptr};
};

// What spec strings may say of every such block, but for init.
void add_cell_options(SpecOptions& list, CellBlockOptions& options);

// `options` as a spec string should have them: width only where it is not the channels.
void leave_out_usual_width(CellBlockOptions& options);

}  // namespace detail
}  // namespace gaze
