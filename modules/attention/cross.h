// Cross-attention of two maps: a map's cells look at those of an earlier stage (Vaswani et al. 2017).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "modules/attention/cell_block.h"
#include "modules/attention/slot_place.h"

namespace gaze {

struct CrossOptions : CellBlockOptions {
  std::string memory;           // the earlier stage, by its name in StageMemory
  int64_t memory_channels = 0;  // M, of its output
  double memory_scale = 1;      // rows (and columns) of its output for each of the slot's; for counting only
};

// y = x + out(attend(queries of the H·W cells of x; keys and values of the h·w cells of the memory)).
//   x      [B, C, H, W] with any H, W >= 1
//   memory [B, M, h, w], StageMemory::current()->get(options.memory); dtype and device of x
// Throws ArgumentError where no StageMemory is open or has not that stage.
//
// State keys: attention.{query, key, value, out}.{weight, bias}, those of MultiHeadAttention. With
// Init::identity `out` starts at 0.
//
// Maps: "cross" [B, H·W, h·w], the mean over heads; a row is a query's.
class CrossImpl : public detail::CellBlock {
 public:
  using Options = CrossOptions;
  static constexpr BlockCard kCard{"cross", "cross(memory=layer2)", "Vaswani et al. 2017", "cross [B, T, S]",
                                   "out"};

  explicit CrossImpl(const CrossOptions& options);

  torch::Tensor forward(const torch::Tensor& x) override;
  std::string memory() const override { return options_.memory; }
  std::string spec() const override;
  int64_t macs(int64_t height, int64_t width) const override;
  void pretty_print(std::ostream& stream) const override;

  const CrossOptions& options() const { return options_; }  // width filled in

  static SpecOptions spec_options(CrossOptions& options);
  // Throws ArgumentError for a memory that is no stage before `place`.
  static std::shared_ptr<AttentionBlock> from_spec(const BlockSpec& spec, const SlotPlace& place, Init init);

 private:
  CrossOptions options_;
};
TORCH_MODULE(Cross);

}  // namespace gaze
