// Additive attention over projected tokens (Bahdanau et al. 2015).
#pragma once

#include <ATen/core/Tensor.h>

#include "modules/ops/max_error.h"

namespace gaze::ops {

struct AdditiveAttended {
  at::Tensor context;  // [B, T, V], dtype of query
  at::Tensor weights;  // [B, T, S], float32 (float64 for float64 inputs)
};

// context = weights · values,   weights = softmax over S of score,
// score[b, t, s] = sum over d of v[d] · tanh(query[b, t, d] + key[b, s, d])
//
//   query [B, T, D], key [B, S, D], both already projected to one width D >= 1; v [D]; values [B, S, V]
//     float64, float32, bfloat16 or float16; one dtype, one device
//   mask [B, S] or [B, T, S], bool, true where a query may look (false at padding)
//   -> context [B, T, V], weights [B, T, S]
//
// A query that may look at no key (all masked, or S = 0) gets zeros in both; a masked key has a weight of
// exactly 0. Tanh, scores, softmax (the row's maximum subtracted) and sums are float32 or wider. Gradients
// flow to query, key, v and values, from context and from weights; backward computes the scores again from
// the saved log-sum-exp, is deterministic and once differentiable. The CPU kernels hold no tensor of B·T·S·D
// elements: forward's scratch is at most 4 MB and a copy of v, backward's one [B, T, S] more and some rows.
// Throws ArgumentError for shapes, dtypes or devices that do not fit. Dispatcher: gaze::additive_attend,
// which also returns the natural log-sum-exp of the scores [B, T].
AdditiveAttended additive_attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& v,
                                 const at::Tensor& values, const at::Tensor& mask = {});

// For |v| that sums to 30 or less over D, and any S up to 4096.
inline constexpr MaxError kAdditiveAttendMaxError{1e-13, 5e-6, 1e-2, 2e-3};

}  // namespace gaze::ops
