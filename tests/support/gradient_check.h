// Autograd's gradient of any callable against central differences, in float64.
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

namespace gaze::test {

using Callable = std::function<std::vector<torch::Tensor>(const std::vector<torch::Tensor>& inputs)>;

// Every element of every input against (L(x + h) - L(x - h)) / 2h, where L is the sum of all outputs, each
// element weighted by a fixed random number. Inputs keep their memory layout. Fails with the input's index
// and both values; also when autograd gives an input no gradient at all.
inline void expect_gradients(const Callable& callable, std::vector<torch::Tensor> inputs,
                             const std::string& context, double step = 1e-6, double bound = 1e-7) {
  std::vector<torch::Tensor> outputs;
  std::vector<torch::Tensor> weights;
  for (torch::Tensor& input : inputs) input = input.detach().requires_grad_(true);
  outputs = callable(inputs);
  torch::manual_seed(7);
  torch::Tensor loss = torch::zeros({}, torch::kDouble);
  for (const torch::Tensor& output : outputs) {
    weights.push_back(torch::randn(output.sizes(), torch::kDouble));
    loss = loss + (output * weights.back()).sum();
  }
  const std::vector<torch::Tensor> gradients = torch::autograd::grad({loss}, inputs, {}, false, false, true);

  const torch::NoGradGuard guard;
  const auto value = [&] {
    double sum = 0;
    const std::vector<torch::Tensor> moved = callable(inputs);
    for (size_t i = 0; i < moved.size(); ++i) sum += (moved[i] * weights[i]).sum().item<double>();
    return sum;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_TRUE(gradients[i].defined()) << context << ", input " << i << " has no gradient";
    ASSERT_EQ(gradients[i].sizes(), inputs[i].sizes()) << context << ", input " << i;
    const torch::Tensor original = inputs[i];
    const torch::Tensor gradient = gradients[i].contiguous().flatten();
    for (int64_t element = 0; element < original.numel(); ++element) {
      torch::Tensor move = torch::zeros({original.numel()}, torch::kDouble);
      move[element] = step;
      inputs[i] = original + move.view(original.sizes());
      const double above = value();
      inputs[i] = original - move.view(original.sizes());
      const double below = value();
      const double numeric = (above - below) / (2 * step);
      EXPECT_NEAR(gradient[element].item<double>(), numeric, bound * std::max(1.0, std::abs(numeric)))
          << context << ", input " << i << ", element " << element;
    }
    inputs[i] = original;
  }
}

}  // namespace gaze::test
