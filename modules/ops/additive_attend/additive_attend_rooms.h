// What the rooms of additive_attend say to each other. Users want additive_attend.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

#include "modules/ops/additive_attend/additive_attend.h"

namespace gaze::detail {

using AdditiveForward = std::tuple<at::Tensor, at::Tensor, at::Tensor>;  // context, weights, log_sum_exp
using AdditiveBackward =
    std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;  // of query, key, v, values

// Through the dispatcher.
AdditiveForward call_additive_attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& v,
                                     const at::Tensor& values, const std::optional<at::Tensor>& mask);
AdditiveBackward call_additive_attend_backward(const at::Tensor& query, const at::Tensor& key,
                                               const at::Tensor& v, const at::Tensor& values,
                                               const std::optional<at::Tensor>& mask,
                                               const at::Tensor& log_sum_exp,
                                               const std::optional<at::Tensor>& grad_context,
                                               const std::optional<at::Tensor>& grad_weights);

// The first line of each backend's kernel. Throws ArgumentError.
void check_additive_attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& v,
                           const at::Tensor& values, const std::optional<at::Tensor>& mask);

// Either form of mask as [B, T, S], without a copy.
at::Tensor additive_pairs(const at::Tensor& mask, int64_t queries);

// In plain ATen calls, on any device.
AdditiveForward additive_attend_composed(const at::Tensor& query, const at::Tensor& key, const at::Tensor& v,
                                         const at::Tensor& values, const std::optional<at::Tensor>& mask);
AdditiveBackward additive_attend_backward_composed(const at::Tensor& query, const at::Tensor& key,
                                                   const at::Tensor& v, const at::Tensor& values,
                                                   const std::optional<at::Tensor>& mask,
                                                   const at::Tensor& log_sum_exp,
                                                   const std::optional<at::Tensor>& grad_context,
                                                   const std::optional<at::Tensor>& grad_weights);

}  // namespace gaze::detail
