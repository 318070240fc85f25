// Efficient channel attention (Wang et al. 2020): a gate a channel from the means of its neighbours.
#pragma once

#include <torch/nn/modules/conv.h>

#include <cstdint>
#include <string>

#include "modules/attention/block.h"
#include "modules/attention/spec.h"

namespace gaze {

struct EcaOptions {
  int64_t channels = 0;     // C
  int64_t kernel = 0;       // k, odd; 0: from the channels, as below
  Init init = Init::paper;  // identity adds the state key "mix"
};

// y = x · gate, gate[c] = sigmoid(sum over i of w[i] · mean over H, W of x[c + i - k/2]), channels outside
// counting as 0; or 1 + mix · (that - 1) with Init::identity. x [B, C, H, W] with any H, W >= 1.
// k from the channels: (log2(C) + 1) / 2 rounded down, the next odd number where that is even, at least 3.
// The authors' released weights have other k: read theirs.
//
// State keys: conv.weight [1, 1, k], as in the authors' code and timm; mix [] with Init::identity.
//
// Maps: "channel" [B, C].
class EcaImpl : public AttentionBlock {
 public:
  using Options = EcaOptions;
  static constexpr BlockCard kCard{"eca", "eca", "Wang et al. 2020", "channel [B, C]", "mix"};

  explicit EcaImpl(const EcaOptions& options);

  torch::Tensor forward(const torch::Tensor& x) override;
  std::string spec() const override;
  int64_t macs(int64_t height, int64_t width) const override;
  void pretty_print(std::ostream& stream) const override;

  const EcaOptions& options() const { return options_; }  // kernel filled in

  static SpecOptions spec_options(EcaOptions& options);

 private:
  EcaOptions options_;
  torch::nn::Conv1d conv_{nullptr};
  torch::Tensor mix_;
};
TORCH_MODULE(Eca);

}  // namespace gaze
