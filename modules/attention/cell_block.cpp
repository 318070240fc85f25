#include "modules/attention/cell_block.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "modules/core/check.h"

namespace gaze::detail {

torch::Tensor cells_of(const torch::Tensor& x) {
  return x.flatten(2).transpose(1, 2);  // [B, H·W, C]
}

CellBlock::CellBlock(const CellBlockOptions& options, int64_t memory_channels, const char* block,
                     int64_t grid_relative) {
  check_that(options.channels >= 1, block, "channels >= 1", fmt::format("channels {}", options.channels));
  MultiHeadAttentionOptions attention;
  attention.query_width = options.channels;
  attention.key_width = attention.value_width = memory_channels;
  attention.heads = options.heads;
  attention.width = options.width;
  attention.bias = options.bias;
  attention.grid_relative = grid_relative;
  attention_ = register_module("attention", MultiHeadAttention(attention, block));
  if (options.init == Init::identity) attention_->zero_output();
}

torch::Tensor CellBlock::add_attended(const torch::Tensor& x, const torch::Tensor& cells,
                                      const torch::Tensor& memory) {
  return add_cells(x, attention_->forward(cells, memory, memory).output);
}

torch::Tensor CellBlock::add_self_attended(const torch::Tensor& x) {
  return add_cells(x, attention_->forward_on_grid(cells_of(x), x.size(2), x.size(3)).output);
}

torch::Tensor CellBlock::add_cells(const torch::Tensor& x, const torch::Tensor& seen) {
  return torch::add(x, seen.transpose(1, 2).view(x.sizes())).contiguous(x.suggest_memory_format());
}

int64_t CellBlock::attention_macs(int64_t cells, int64_t memory_cells) const {
  return attention_->macs(cells, memory_cells);
}

void add_cell_options(SpecOptions& list, CellBlockOptions& options) {
  list.integer("heads", options.heads, "heads, which divide the width").always();
  list.integer("width", options.width, "width of queries, keys and values; 0 takes the channels");
  list.boolean("bias", options.bias, "whether the projections have biases");
}

void leave_out_usual_width(CellBlockOptions& options) {
  if (options.width == options.channels) options.width = 0;
}

}  // namespace gaze::detail
