// Attention whose softmax is replaced by a product of features, so that time and memory grow with the tokens
// and not with their pairs. Katharopoulos et al. 2020, "Transformers are RNNs" (elu + 1); Choromanski et al.
// 2021, "Rethinking Attention with Performers" (ReLU and positive random features).
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "modules/ops/max_error.h"

namespace gaze::ops {

// φ, from a row x [D] of q or k to its features, all of them >= 0.
enum class FeatureMap {
  elu_plus_one,     // [D]  x + 1 where x > 0, else exp(x)
  relu,             // [D]  max(x, 0)
  positive_random,  // [M]  exp(w_m·y - |y|²/2) / √M with y = √scale · x and w_m the rows of `projection`
};

struct LinearAttendOptions {
  FeatureMap map = FeatureMap::elu_plus_one;
  bool causal = false;    // query t sees keys s <= t + S - T, as in attend.h
  at::Tensor projection;  // [M, D], M >= 1, for positive_random and only there; see random_features.h
  // For positive_random: that of the softmax it approximates, softmax(scale · q·k); 1/√D unless given.
  std::optional<double> scale;
};

// output_t = φ(q_t) · (Σ_s φ(k_s) v_sᵀ) / (φ(q_t) · Σ_s φ(k_s)),   s over the keys that query t sees
//
//   q [B, N, T, D], k [B, N, S, D], v [B, N, S, V]
//     float64, float32, bfloat16 or float16; one dtype, one device
//   mask [B, S] or undefined
//     bool, true where a key may be seen; what the others hold, be it NaN, has no effect
//   projection any floating dtype; device of q
//   -> output [B, N, T, V], dtype of q
//
// A query whose denominator is 0 gets zeros: it sees no key (all masked, or S = 0), or its features meet none
// of theirs, as happens with relu. Features and sums are float32 or wider, and take O(T + S) memory.
// Exponents of positive random features are taken relative to the largest seen so far, feature by feature, so
// that no shift of q or k makes them overflow or all vanish. In a causal call what comes after key t + S - T
// has no effect on output t. Inputs of magnitude up to 1e9 (where the dtype has them) give finite outputs.
// Gradients flow to q, k, v and projection, relu's to where x > 0, none through a denominator of 0; backward
// is deterministic and once differentiable. Throws ArgumentError for shapes, dtypes or devices that do not
// fit.
//
// Dispatcher: gaze::linear_attend, whose argument map is 0 (elu_plus_one), 1 (relu) or 2 (exp: φ(x) = exp(x),
// of logits that are made before, which is what positive_random comes to).
at::Tensor linear_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const at::Tensor& mask = {}, const LinearAttendOptions& options = {});

// For S up to 1000, D up to 64 and numbers of q and k up to 5 in magnitude.
inline constexpr MaxError kLinearAttendMaxError{1e-13, 1e-5, 5e-3, 6e-4};

}  // namespace gaze::ops
