#include "modules/ops/additive_attend/additive_attend.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <torch/library.h>

#include <array>

#include "modules/core/check.h"
#include "modules/ops/additive_attend/additive_attend_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace detail {

void check_additive_attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& v,
                           const at::Tensor& values, const std::optional<at::Tensor>& mask) {
  constexpr const char* op = "additive_attend";
  check_shape(query, "query", {"B", "T", "D"}, op);
  check_floating(query, "query", op);
  const int64_t B = query.size(0), T = query.size(1), D = query.size(2);
  check_that(D > 0, op, "query of width D >= 1", fmt::format("query {}", shape_text(query.sizes())));
  check_shape(key, "key", {{"B", B}, "S", {"D", D}}, op);
  check_shape(v, "v", {{"D", D}}, op);
  const int64_t S = key.size(1);
  check_shape(values, "values", {{"B", B}, {"S", S}, "V"}, op);
  check_like(key, "key", query, "query", op);
  check_like(v, "v", query, "query", op);
  check_like(values, "values", query, "query", op);
  if (!is_given(mask)) return;
  const std::array<int64_t, 2> padding{B, S};
  const std::array<int64_t, 3> pairs{B, T, S};
  if (mask->sizes() != at::IntArrayRef(padding) && mask->sizes() != at::IntArrayRef(pairs)) {
    check_that(false, op, fmt::format("mask [B={0}, S={2}] or [B={0}, T={1}, S={2}]", B, T, S),
               fmt::format("mask {}", shape_text(mask->sizes())));
  }
  if (mask->scalar_type() != at::kBool) {
    check_that(false, op, "mask bool", fmt::format("mask {}", c10::toString(mask->scalar_type())));
  }
  if (mask->device() != query.device()) {
    check_that(false, op, fmt::format("mask on {} like query", query.device().str()),
               fmt::format("mask on {}", mask->device().str()));
  }
}

at::Tensor additive_pairs(const at::Tensor& mask, int64_t queries) {
  return mask.dim() == 3 ? mask : mask.unsqueeze(1).expand({mask.size(0), queries, mask.size(1)});
}

AdditiveForward call_additive_attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& v,
                                     const at::Tensor& values, const std::optional<at::Tensor>& mask) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("gaze::additive_attend", "")
                             .typed<decltype(call_additive_attend)>();
  return op.call(query, key, v, values, mask);
}

AdditiveBackward call_additive_attend_backward(const at::Tensor& query, const at::Tensor& key,
                                               const at::Tensor& v, const at::Tensor& values,
                                               const std::optional<at::Tensor>& mask,
                                               const at::Tensor& log_sum_exp,
                                               const std::optional<at::Tensor>& grad_context,
                                               const std::optional<at::Tensor>& grad_weights) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("gaze::additive_attend_backward", "")
                             .typed<decltype(call_additive_attend_backward)>();
  return op.call(query, key, v, values, mask, log_sum_exp, grad_context, grad_weights);
}

}  // namespace detail

namespace {

detail::AdditiveForward additive_attend_meta(const at::Tensor& query, const at::Tensor& key,
                                             const at::Tensor& v, const at::Tensor& values,
                                             const std::optional<at::Tensor>& mask) {
  detail::check_additive_attend(query, key, v, values, mask);
  const auto statistics = query.options().dtype(detail::statistics_dtype(query.scalar_type()));
  return {at::empty({query.size(0), query.size(1), values.size(2)}, query.options()),
          at::empty({query.size(0), query.size(1), key.size(1)}, statistics),
          at::empty({query.size(0), query.size(1)}, statistics)};
}

detail::AdditiveBackward additive_attend_backward_meta(const at::Tensor& query, const at::Tensor& key,
                                                       const at::Tensor& v, const at::Tensor& values,
                                                       const std::optional<at::Tensor>&, const at::Tensor&,
                                                       const std::optional<at::Tensor>&,
                                                       const std::optional<at::Tensor>&) {
  return {at::empty(query.sizes(), query.options()), at::empty(key.sizes(), key.options()),
          at::empty(v.sizes(), v.options()), at::empty(values.sizes(), values.options())};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(gaze, library) {
  library.def(
      "additive_attend(Tensor query, Tensor key, Tensor v, Tensor values, Tensor? mask=None)"
      " -> (Tensor context, Tensor weights, Tensor log_sum_exp)");
  library.def(
      "additive_attend_backward(Tensor query, Tensor key, Tensor v, Tensor values, Tensor? mask,"
      " Tensor log_sum_exp, Tensor? grad_context, Tensor? grad_weights)"
      " -> (Tensor grad_query, Tensor grad_key, Tensor grad_v, Tensor grad_values)");
}

TORCH_LIBRARY_IMPL(gaze, Meta, library) {
  library.impl("additive_attend", additive_attend_meta);
  library.impl("additive_attend_backward", additive_attend_backward_meta);
}

namespace ops {

AdditiveAttended additive_attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& v,
                                 const at::Tensor& values, const at::Tensor& mask) {
  // The dispatcher picks a backend from the tensors and so needs them; the rest is checked by the backend's
  // kernel.
  check_shape(query, "query", {"B", "T", "D"}, "additive_attend");
  check_shape(key, "key", {"B", "S", "D"}, "additive_attend");
  check_shape(v, "v", {"D"}, "additive_attend");
  check_shape(values, "values", {"B", "S", "V"}, "additive_attend");
  auto [context, weights, log_sum_exp] =
      detail::call_additive_attend(query, key, v, values, detail::given(mask));
  return {context, weights};
}

}  // namespace ops
}  // namespace gaze
