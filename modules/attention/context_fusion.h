// A decoder's state and the context it attended to, made one (Bahdanau et al. 2015, Luong et al. 2015).
#pragma once

#include <torch/nn/modules/linear.h>

#include <cstdint>

namespace gaze {

enum class FusionKind {
  concatenation,  // [s; c]
  addition,       // s + c
  gate,           // g ⊙ s + (1 − g) ⊙ c,  g = sigmoid(W · [s; c] + b)
};

struct ContextFusionOptions {
  int64_t state_width = 0;
  int64_t context_width = 0;  // 0: state_width, which addition and gate need it to be
  FusionKind kind = FusionKind::concatenation;
};

//   state [B, state_width], context [B, context_width]; or both [B, T, ...]; one dtype, one device
//   -> [B, output_width()] or [B, T, output_width()]: the sum of the widths for concatenation, else
//      state_width
//
// Throws ArgumentError for shapes, dtypes or devices that do not fit.
//
// State keys: gate.weight [state_width, 2 · state_width] with the state's columns first and gate.bias, only
// for the gate; they start as PyTorch's nn.Linear, whose name in PyTorch code over torch.cat((s, c), -1) they
// are. Keras' Dense over a Concatenate of s and c keeps kernel (gate.weightᵀ) and bias.
class ContextFusionImpl : public torch::nn::Module {
 public:
  explicit ContextFusionImpl(const ContextFusionOptions& options);

  torch::Tensor forward(const torch::Tensor& state, const torch::Tensor& context);

  int64_t output_width() const;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  const ContextFusionOptions& options() const { return options_; }  // widths filled in

 private:
  ContextFusionOptions options_;
  torch::nn::Linear gate_{nullptr};
};
TORCH_MODULE(ContextFusion);

}  // namespace gaze
