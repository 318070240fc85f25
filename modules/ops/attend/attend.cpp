#include "modules/ops/attend/attend.h"

#include <ATen/ExpandUtils.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>
#include <torch/library.h>

#include "modules/core/check.h"
#include "modules/ops/attend/attend_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace detail {

void check_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const std::optional<at::Tensor>& mask, int64_t weights) {
  check_shape(q, "q", {"B", "N", "T", "D"}, "attend");
  check_floating(q, "q", "attend");
  check_that(q.size(3) > 0, "attend", "q of width D >= 1", fmt::format("q {}", shape_text(q.sizes())));
  check_shape(k, "k", {{"B", q.size(0)}, {"N", q.size(1)}, "S", {"D", q.size(3)}}, "attend");
  check_shape(v, "v", {{"B", q.size(0)}, {"N", q.size(1)}, {"S", k.size(2)}, "V"}, "attend");
  check_like(k, "k", q, "q", "attend");
  check_like(v, "v", q, "q", "attend");
  if (weights < 0 || weights > 2) {
    check_that(false, "attend", "weights 0 (none), 1 (per head) or 2 (mean over heads)",
               fmt::format("weights {}", weights));
  }
  if (!is_given(mask)) return;
  if (mask->scalar_type() != at::kBool && !mask->is_floating_point()) {
    check_that(false, "attend", "mask bool or floating",
               fmt::format("mask {}", c10::toString(mask->scalar_type())));
  }
  if (mask->device() != q.device()) {
    check_that(false, "attend", fmt::format("mask on {} like q", q.device().str()),
               fmt::format("mask on {}", mask->device().str()));
  }
  const std::array<int64_t, 4> scores{q.size(0), q.size(1), q.size(2), k.size(2)};
  if (!at::is_expandable_to(mask->sizes(), scores)) {
    check_that(false, "attend", fmt::format("mask broadcastable to [B, N, T, S] = {}", shape_text(scores)),
               fmt::format("mask {}", shape_text(mask->sizes())));
  }
}

std::vector<int64_t> attend_weights_shape(const at::Tensor& q, const at::Tensor& k, int64_t weights) {
  switch (static_cast<ops::AttendWeights>(weights)) {
    case ops::AttendWeights::per_head:
      return {q.size(0), q.size(1), q.size(2), k.size(2)};
    case ops::AttendWeights::head_mean:
      return {q.size(0), q.size(2), k.size(2)};
    default:
      return {0};
  }
}

AttendForward call_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const std::optional<at::Tensor>& mask, std::optional<double> scale, bool causal,
                          int64_t weights) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("gaze::attend", "").typed<decltype(call_attend)>();
  return op.call(q, k, v, mask, scale, causal, weights);
}

AttendBackward call_attend_backward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const std::optional<at::Tensor>& mask, const at::Tensor& log_sum_exp,
                                    const std::optional<at::Tensor>& grad_output,
                                    const std::optional<at::Tensor>& grad_weights,
                                    std::optional<double> scale, bool causal, bool mask_gradient) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("gaze::attend_backward", "")
                             .typed<decltype(call_attend_backward)>();
  return op.call(q, k, v, mask, log_sum_exp, grad_output, grad_weights, scale, causal, mask_gradient);
}

}  // namespace detail

namespace {

detail::AttendForward attend_meta(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const std::optional<at::Tensor>& mask, std::optional<double>, bool,
                                  int64_t weights) {
  detail::check_attend(q, k, v, mask, weights);
  const auto statistics = q.options().dtype(detail::statistics_dtype(q.scalar_type()));
  return {at::empty({q.size(0), q.size(1), q.size(2), v.size(3)}, q.options()),
          at::empty(detail::attend_weights_shape(q, k, weights), statistics),
          at::empty({q.size(0), q.size(1), q.size(2)}, statistics)};
}

detail::AttendBackward attend_backward_meta(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                            const std::optional<at::Tensor>& mask, const at::Tensor&,
                                            const std::optional<at::Tensor>&,
                                            const std::optional<at::Tensor>&, std::optional<double>, bool,
                                            bool mask_gradient) {
  return {at::empty(q.sizes(), q.options()), at::empty(k.sizes(), k.options()),
          at::empty(v.sizes(), v.options()),
          mask_gradient ? at::empty(mask->sizes(), mask->options()) : at::empty({0}, q.options())};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(gaze, library) {
  library.def(
      "attend(Tensor q, Tensor k, Tensor v, Tensor? mask=None, float? scale=None, bool causal=False, int "
      "weights=0)"
      " -> (Tensor output, Tensor weights, Tensor log_sum_exp)");
  library.def(
      "attend_backward(Tensor q, Tensor k, Tensor v, Tensor? mask, Tensor log_sum_exp, Tensor? grad_output,"
      " Tensor? grad_weights, float? scale, bool causal, bool mask_gradient)"
      " -> (Tensor grad_q, Tensor grad_k, Tensor grad_v, Tensor grad_mask)");
}

TORCH_LIBRARY_IMPL(gaze, Meta, library) {
  library.impl("attend", attend_meta);
  library.impl("attend_backward", attend_backward_meta);
}

namespace ops {

Attended attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                const AttendOptions& options) {
  // The dispatcher picks a backend from q, k and v and so needs them; the rest is checked by the backend's
  // kernel.
  check_shape(q, "q", {"B", "N", "T", "D"}, "attend");
  check_shape(k, "k", {"B", "N", "S", "D"}, "attend");
  check_shape(v, "v", {"B", "N", "S", "V"}, "attend");
  auto [output, weights, log_sum_exp] = detail::call_attend(
      q, k, v, detail::given(mask), options.scale, options.causal, static_cast<int64_t>(options.weights));
  return {output, options.weights == AttendWeights::none ? at::Tensor() : weights};
}

}  // namespace ops
}  // namespace gaze
