// A block that is one channel gate: what se and cam share.
#pragma once

#include <string>

#include "modules/attention/block.h"
#include "modules/attention/channel_layers.h"

namespace gaze {

struct ChannelBlockOptions : ChannelLayersOptions {
  Init init = Init::paper;  // identity adds the state key "mix"
};

namespace detail {

// y = x · gate, gate = sigmoid(excite(x squeezed by `pool`)), or 1 + mix · (that - 1) with Init::identity.
// State keys: those of ChannelLayers; mix [] with Init::identity. Maps: "channel" [B, C].
class ChannelBlock : public AttentionBlock {
 public:
  using Options = ChannelBlockOptions;

  torch::Tensor forward(const torch::Tensor& x) override;
  torch::Tensor forward_to_end(const torch::Tensor& x, const torch::Tensor& shortcut) override;
  std::string spec() const override;
  int64_t macs(int64_t height, int64_t width) const override;
  void pretty_print(std::ostream& stream) const override;

  const Options& options() const { return options_; }  // hidden filled in

 protected:
  ChannelBlock(const Options& options, ops::Pool pool, const BlockCard& card, const char* printed_name);

  ChannelLayers layers_;

 private:
  torch::Tensor gate(const torch::Tensor& x, const ops::Tail& tail);

  Options options_;
  ops::Pool pool_;
  const BlockCard& card_;
  const char* printed_name_;  // "gaze::Se"
  torch::Tensor mix_;
};

SpecOptions channel_block_options(const char* block, ChannelBlockOptions& options);

}  // namespace detail
}  // namespace gaze
