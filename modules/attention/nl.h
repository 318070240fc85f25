// The non-local block (Wang et al. 2018): every cell takes from all others by the likeness of their features.
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <cstdint>
#include <string>

#include "modules/attention/block.h"
#include "modules/attention/spec.h"

namespace gaze {

struct NlOptions {
  int64_t channels = 0;     // C
  int64_t reduction = 2;    // the inner width is C / reduction, at least 1
  bool scaled = false;      // likeness divided by the root of the inner width, as a Transformer's is
  bool pool = false;        // keys and values from a 2 x 2 maximum of the map, a quarter of the work
  bool norm = true;         // batch norm behind the last projection
  Init init = Init::paper;  // both start the block as the identity
};

// y = x + norm(out(softmax over s of (theta(x)_t · phi(x)_s) · g(x)_s)), the paper's embedded Gaussian;
// theta, phi, g and out are 1 x 1 convolutions with biases. x [B, C, H, W] with any H, W >= 1; the work grows
// with (H·W)². Odd last rows and columns are pooled as they are.
//
// State keys: theta, phi, g, out (.weight [·, ·, 1, 1], .bias), norm.*. As in the authors' code the norm's
// weight starts at 0, without norm `out`: the host's output is bit-equal at insertion.
//
// Maps: "self" [B, H·W, S], S = H·W or that of the pooled map; a row is a query's.
class NlImpl : public AttentionBlock {
 public:
  using Options = NlOptions;
  static constexpr BlockCard kCard{"nl", "nl", "Wang et al. 2018", "self [B, T, S]", "norm"};

  explicit NlImpl(const NlOptions& options);

  torch::Tensor forward(const torch::Tensor& x) override;
  std::string spec() const override;
  int64_t macs(int64_t height, int64_t width) const override;
  void pretty_print(std::ostream& stream) const override;

  const NlOptions& options() const { return options_; }

  static SpecOptions spec_options(NlOptions& options);

 private:
  int64_t inner_width() const;
  torch::Tensor normed(const torch::Tensor& added);

  NlOptions options_;
  torch::nn::Conv2d theta_{nullptr}, phi_{nullptr}, g_{nullptr}, out_{nullptr};
  torch::nn::BatchNorm2d norm_{nullptr};
};
TORCH_MODULE(Nl);

}  // namespace gaze
