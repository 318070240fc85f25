// What flows through a network's named places, kept in the graph: what gradient explanations start from.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gaze {

struct TappedPlace {
  std::string name;            // "layer4.1"
  std::vector<int64_t> shape;  // of what flowed through, [B, C, H, W]
};

// While a tap lives, networks of this thread show it each named place that they pass. The places it wants it
// keeps as tensors that gradients can be asked for; where nothing before a place needs a gradient, the graph
// starts there. Taps nest: the innermost sees.
//
//   ActivationTap tap({"layer4"});
//   const at::Tensor score = network->forward(x).select(1, 207).sum();
//   const at::Tensor gradient = torch::autograd::grad({score}, {tap.value("layer4")})[0];
class ActivationTap {
 public:
  explicit ActivationTap(std::vector<std::string> wanted = {});
  ~ActivationTap();
  ActivationTap(const ActivationTap&) = delete;
  ActivationTap& operator=(const ActivationTap&) = delete;

  // For networks: what the next layer is to read, `x` itself unless the place is wanted.
  static at::Tensor pass(const std::string& name, const at::Tensor& x) {
    return current() == nullptr ? x : current()->seen(name, x);
  }

  // Every place that was passed, in order.
  const std::vector<TappedPlace>& places() const { return places_; }
  // Of a wanted place: what flowed through it last. Throws ArgumentError naming the places there are where
  // the network has none of that name.
  const at::Tensor& value(const std::string& name) const;

 private:
  static ActivationTap*& current();
  at::Tensor seen(const std::string& name, const at::Tensor& x);

  std::vector<std::string> wanted_;
  std::vector<at::Tensor> values_;  // of the wanted
  std::vector<TappedPlace> places_;
  ActivationTap* outer_;
};

}  // namespace gaze
