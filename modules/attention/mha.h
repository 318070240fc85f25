// Self-attention of a map's cells (Vaswani et al. 2017; on feature maps: Wang et al. 2018, non-local
// networks).
#pragma once

#include <cstdint>
#include <string>

#include "modules/attention/cell_block.h"

namespace gaze {

struct MhaOptions : CellBlockOptions {
  int64_t relative = 0;  // L of GridDistances: cells know how many rows and columns lie between them, those
                         // from L - 1 on alike; 0: their place is nothing to them
};

// y = x + out(attend(queries, keys and values of the H·W cells of x)): each cell takes what it needs from all
// others. x [B, C, H, W] with any H, W >= 1; the work grows with (H·W)².
//
// State keys: attention.{query, key, value, out}.{weight, bias}, those of MultiHeadAttention; with relative
// positions attention.grid.{row, column}. With Init::identity `out` starts at 0.
//
// Maps: "self" [B, H·W, H·W], the mean over heads; a row is a query's.
class MhaImpl : public detail::CellBlock {
 public:
  using Options = MhaOptions;
  static constexpr BlockCard kCard{"mha", "mha", "Vaswani et al. 2017", "self [B, T, S]", "out"};

  explicit MhaImpl(const MhaOptions& options);

  torch::Tensor forward(const torch::Tensor& x) override;
  std::string spec() const override;
  int64_t macs(int64_t height, int64_t width) const override;
  void pretty_print(std::ostream& stream) const override;

  const MhaOptions& options() const { return options_; }  // width filled in

  static SpecOptions spec_options(MhaOptions& options);

 private:
  MhaOptions options_;
};
TORCH_MODULE(Mha);

}  // namespace gaze
