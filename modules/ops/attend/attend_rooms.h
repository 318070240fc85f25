// What the rooms of attend say to each other. Users want attend.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>
#include <vector>

#include "modules/ops/attend/attend.h"

namespace gaze::detail {

using MaybeTensor = std::optional<at::Tensor>;

struct AttendInputs {
  at::Tensor q, k, v;
  MaybeTensor mask = {};      // bool
  MaybeTensor bias = {};      // floating
  MaybeTensor key_mask = {};  // bool
  MaybeTensor relative = {}, row_bias = {}, column_bias = {};
};
struct AttendRules {
  std::optional<double> scale;
  bool causal = false, relative_inside = false;
  double dropout = 0;
  int64_t seed = 0;

  double scale_for(int64_t width) const;
};
struct AttendAsked {
  ops::AttendWeights weights = ops::AttendWeights::none;
  std::vector<int64_t> rows = {};
  bool key_sums = false, entropy = false;
};
// Of what the forward pass returned; none where nothing depends on it.
struct AttendGrads {
  MaybeTensor output = {}, log_sum_exp = {}, weights = {}, key_sums = {}, entropy = {};
};
// Which of the biases want a gradient.
struct AttendWanted {
  bool bias = false, relative = false, row_bias = false, column_bias = false;
};

// output, log_sum_exp, weights, key_sums, entropy; what was not asked for has no elements.
using AttendForward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
// of q, k, v, bias, relative, row_bias, column_bias; what was not wanted has no elements.
using AttendBackward =
    std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

// Through the dispatcher.
AttendForward call_attend(const AttendInputs& in, const AttendRules& rules, const AttendAsked& asked);
AttendBackward call_attend_backward(const AttendInputs& in, const AttendRules& rules,
                                    const AttendAsked& asked, const at::Tensor& log_sum_exp,
                                    const AttendGrads& grads, const AttendWanted& wanted);

// The first line of each backend's forward kernel. Throws ArgumentError.
void check_attend(const AttendInputs& in, const AttendRules& rules, const AttendAsked& asked);

// In plain ATen calls, on any device.
AttendForward attend_composed(const AttendInputs& in, const AttendRules& rules, const AttendAsked& asked);
AttendBackward attend_backward_composed(const AttendInputs& in, const AttendRules& rules,
                                        const AttendAsked& asked, const at::Tensor& log_sum_exp,
                                        const AttendGrads& grads, const AttendWanted& wanted);

// The shape of the weights that are returned; [0] for none.
std::vector<int64_t> attend_weights_shape(const AttendInputs& in, const AttendAsked& asked);
// For each query its place in asked.rows, -1 for those that are not there: [T].
std::vector<int64_t> attend_row_places(const AttendAsked& asked, int64_t queries);

// The schemas' flat arguments, and the rooms' functions under them.
template <AttendForward (*kRoom)(const AttendInputs&, const AttendRules&, const AttendAsked&)>
AttendForward attend_flat(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const MaybeTensor& mask, const MaybeTensor& bias, const MaybeTensor& key_mask,
                          const MaybeTensor& relative, const MaybeTensor& row_bias,
                          const MaybeTensor& column_bias, std::optional<double> scale, bool causal,
                          bool relative_inside, double dropout, int64_t seed, int64_t weights,
                          at::IntArrayRef rows, bool key_sums, bool entropy) {
  return kRoom({q, k, v, mask, bias, key_mask, relative, row_bias, column_bias},
               {scale, causal, relative_inside, dropout, seed},
               {static_cast<ops::AttendWeights>(weights), rows.vec(), key_sums, entropy});
}
template <AttendBackward (*kRoom)(const AttendInputs&, const AttendRules&, const AttendAsked&,
                                  const at::Tensor&, const AttendGrads&, const AttendWanted&)>
AttendBackward attend_backward_flat(
    const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const MaybeTensor& mask,
    const MaybeTensor& bias, const MaybeTensor& key_mask, const MaybeTensor& relative,
    const MaybeTensor& row_bias, const MaybeTensor& column_bias, std::optional<double> scale, bool causal,
    bool relative_inside, double dropout, int64_t seed, int64_t weights, at::IntArrayRef rows,
    const at::Tensor& log_sum_exp, const MaybeTensor& grad_output, const MaybeTensor& grad_log_sum_exp,
    const MaybeTensor& grad_weights, const MaybeTensor& grad_key_sums, const MaybeTensor& grad_entropy,
    bool wants_bias, bool wants_relative, bool wants_row_bias, bool wants_column_bias) {
  return kRoom({q, k, v, mask, bias, key_mask, relative, row_bias, column_bias},
               {scale, causal, relative_inside, dropout, seed},
               {static_cast<ops::AttendWeights>(weights), rows.vec(), false, false}, log_sum_exp,
               {grad_output, grad_log_sum_exp, grad_weights, grad_key_sums, grad_entropy},
               {wants_bias, wants_relative, wants_row_bias, wants_column_bias});
}

}  // namespace gaze::detail
