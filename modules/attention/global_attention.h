// Attention of a decoder's states over all of an encoder's outputs (Bahdanau et al. 2015, Luong et al. 2015).
#pragma once

#include <torch/nn/modules/linear.h>

#include <cstdint>

namespace gaze {

// Of a state s and an output h.
enum class AttentionScore {
  additive,    // vᵀ · tanh(W · [h; s] + b)   Bahdanau's; Luong's "concat"
  dot,         // sᵀ · h                      Luong's
  general,     // sᵀ · W · h                  Luong's
  scaled_dot,  // sᵀ · h / √query_width       Vaswani et al. 2017
};

struct GlobalAttentionOptions {
  int64_t query_width = 0;  // of the decoder's states
  int64_t key_width = 0;    // of the encoder's outputs, and of the context; 0: query_width, which dot and
                            // scaled_dot need it to be
  AttentionScore score = AttentionScore::additive;
  int64_t width = 0;  // D, rows of additive's W; 0: query_width
  bool bias = true;   // b of additive
};

struct AttendedMemory {
  torch::Tensor context;  // [B, key_width], or [B, T, key_width] for states [B, T, query_width]
  torch::Tensor weights;  // [B, S], or [B, T, S]; float32 (float64 for float64 inputs)
};

// context = weights · memory,   weights = softmax over S of score(query[b, t], memory[b, s])
//
//   query [B, query_width], one state each; or [B, T, query_width]
//   memory [B, S, key_width], the encoder's outputs, keys and values alike
//   mask [B, S], or [B, T, S] where query has T; bool, true where a state may look (false at padding;
//        PyTorch's key_padding_mask is the other way round, Keras' value mask the same)
//     query, memory and parameters float64, float32, bfloat16 or float16; one dtype, one device
//
// A state that may look nowhere gets zeros. Throws ArgumentError for shapes, dtypes or devices that do not
// fit. The additive score never holds a tensor of T·S·D numbers, see ops/additive_attend.
//
// State keys: additive   attn.weight [D, key_width + query_width] with the encoder's columns first,
//                        attn.bias [D], v.weight [1, D]
//             general    general.weight [query_width, key_width]
// All start as PyTorch's nn.Linear. Where others keep the same numbers, K and Q being attn.weight's columns
// for keys and queries:
//   PyTorch, class Attention over torch.cat((encoder_outputs, hidden), 2): these very keys
//   PyTorch's tutorial, BahdanauAttention: K Ua.weight, Q Wa.weight, bias Ua.bias + Wa.bias, v Va.weight
//     (Va.bias shifts all scores alike and has no effect)
//   OpenNMT, GlobalAttention: K linear_context.weight, Q linear_query.weight, bias linear_query.bias,
//     v v.weight; general linear_in.weightᵀ
//   TensorFlow Addons (kernels are [in, out]): BahdanauAttention K memory_layer/kernelᵀ,
//     Q query_layer/kernelᵀ, v attention_v, no bias; LuongAttention general memory_layer/kernelᵀ
//   Keras: AdditiveAttention v scale, K and Q the kernelsᵀ of the Dense layers before it
//
// Maps: "cross" [B, T, S].
class GlobalAttentionImpl : public torch::nn::Module {
 public:
  explicit GlobalAttentionImpl(const GlobalAttentionOptions& options);

  AttendedMemory forward(const torch::Tensor& query, const torch::Tensor& memory,
                         const torch::Tensor& mask = {});

  // The two halves of forward, for a decoder that looks at one memory many times: keys [B, S, D] of additive,
  // memory itself else.
  torch::Tensor project(const torch::Tensor& memory);
  AttendedMemory attend_projected(const torch::Tensor& query, const torch::Tensor& keys,
                                  const torch::Tensor& memory, const torch::Tensor& mask = {});

  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  // Multiply-accumulates for one sample: projections, scores and sums of values.
  int64_t macs(int64_t queries, int64_t keys) const;

  const GlobalAttentionOptions& options() const { return options_; }  // widths filled in

 private:
  GlobalAttentionOptions options_;
  torch::nn::Linear attn_{nullptr}, v_{nullptr}, general_{nullptr};
};
TORCH_MODULE(GlobalAttention);

}  // namespace gaze
