#include "modules/ops/linear_attend/linear_attend.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <torch/library.h>

#include "modules/core/check.h"
#include "modules/ops/attend/attend_math.h"
#include "modules/ops/linear_attend/linear_attend_math.h"
#include "modules/ops/linear_attend/linear_attend_rooms.h"
#include "modules/ops/linear_attend/random_features.h"
#include "modules/ops/optional_tensor.h"

namespace gaze {
namespace {

constexpr const char* kOp = "linear_attend";

}  // namespace

namespace detail {

void check_linear_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const std::optional<at::Tensor>& mask, int64_t map) {
  check_shape(q, "q", {"B", "N", "T", "D"}, kOp);
  check_floating(q, "q", kOp);
  check_that(q.size(3) > 0, kOp, "q of width D >= 1", fmt::format("q {}", shape_text(q.sizes())));
  check_shape(k, "k", {{"B", q.size(0)}, {"N", q.size(1)}, "S", {"D", q.size(3)}}, kOp);
  check_shape(v, "v", {{"B", q.size(0)}, {"N", q.size(1)}, {"S", k.size(2)}, "V"}, kOp);
  check_like(k, "k", q, "q", kOp);
  check_like(v, "v", q, "q", kOp);
  if (map < 0 || map > 2) {
    check_that(false, kOp, "map 0 (elu + 1), 1 (relu) or 2 (exp)", fmt::format("map {}", map));
  }
  if (!is_given(mask)) return;
  check_shape(*mask, "mask", {{"B", q.size(0)}, {"S", k.size(2)}}, kOp);
  if (mask->scalar_type() != at::kBool) {
    check_that(false, kOp, "mask bool", fmt::format("mask {}", c10::toString(mask->scalar_type())));
  }
  if (mask->device() != q.device()) {
    check_that(false, kOp, fmt::format("mask on {} like q", q.device().str()),
               fmt::format("mask on {}", mask->device().str()));
  }
}

at::Tensor call_linear_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const std::optional<at::Tensor>& mask, int64_t map, bool causal) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("gaze::linear_attend", "")
                             .typed<decltype(call_linear_attend)>();
  return op.call(q, k, v, mask, map, causal);
}

LinearAttendBackward call_linear_attend_backward(const at::Tensor& q, const at::Tensor& k,
                                                 const at::Tensor& v, const std::optional<at::Tensor>& mask,
                                                 const at::Tensor& grad_output, int64_t map, bool causal) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("gaze::linear_attend_backward", "")
                             .typed<decltype(call_linear_attend_backward)>();
  return op.call(q, k, v, mask, grad_output, map, causal);
}

}  // namespace detail

namespace {

at::Tensor linear_attend_meta(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const std::optional<at::Tensor>& mask, int64_t map, bool) {
  detail::check_linear_attend(q, k, v, mask, map);
  return at::empty({q.size(0), q.size(1), q.size(2), v.size(3)}, q.options());
}

detail::LinearAttendBackward linear_attend_backward_meta(const at::Tensor& q, const at::Tensor& k,
                                                         const at::Tensor& v,
                                                         const std::optional<at::Tensor>&, const at::Tensor&,
                                                         int64_t, bool) {
  return {at::empty(q.sizes(), q.options()), at::empty(k.sizes(), k.options()),
          at::empty(v.sizes(), v.options())};
}

void check_projection(const at::Tensor& q, const ops::LinearAttendOptions& options) {
  const at::Tensor& projection = options.projection;
  if (options.map != ops::FeatureMap::positive_random) {
    check_that(!projection.defined() && !options.scale, kOp,
               "projection and scale with positive_random alone", "one of them");
    return;
  }
  check_shape(projection, "projection", {"M", {"D", q.size(3)}}, kOp);
  check_floating(projection, "projection", kOp);
  if (projection.size(0) < 1) {
    check_that(false, kOp, "projection with M >= 1",
               fmt::format("projection {}", shape_text(projection.sizes())));
  }
  if (projection.device() != q.device()) {
    check_that(false, kOp, fmt::format("projection on {} like q", q.device().str()),
               fmt::format("projection on {}", projection.device().str()));
  }
  if (options.scale && !(*options.scale >= 0)) {
    check_that(false, kOp, "scale >= 0", fmt::format("scale {}", *options.scale));
  }
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(gaze, library) {
  library.def(
      "linear_attend(Tensor q, Tensor k, Tensor v, Tensor? mask=None, int map=0, bool causal=False)"
      " -> Tensor output");
  library.def(
      "linear_attend_backward(Tensor q, Tensor k, Tensor v, Tensor? mask, Tensor grad_output, int map, bool "
      "causal) -> (Tensor grad_q, Tensor grad_k, Tensor grad_v)");
}

TORCH_LIBRARY_IMPL(gaze, Meta, library) {
  library.impl("linear_attend", linear_attend_meta);
  library.impl("linear_attend_backward", linear_attend_backward_meta);
}

namespace ops {

at::Tensor linear_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const at::Tensor& mask, const LinearAttendOptions& options) {
  if (options.map != FeatureMap::positive_random) {
    // The dispatcher picks a backend from q, k and v and so needs them; the rest is checked by the backend's
    // kernel.
    check_shape(q, "q", {"B", "N", "T", "D"}, kOp);
    check_shape(k, "k", {"B", "N", "S", "D"}, kOp);
    check_shape(v, "v", {"B", "N", "S", "V"}, kOp);
    check_projection(q, options);
    return detail::call_linear_attend(q, k, v, detail::given(mask), static_cast<int64_t>(options.map),
                                      options.causal);
  }
  constexpr auto exponential = static_cast<int64_t>(detail::LinearAttendMap::exp);
  detail::check_linear_attend(q, k, v, detail::given(mask), exponential);
  check_projection(q, options);
  const double scale = options.scale.value_or(detail::attend_default_scale(q.size(3)));
  const at::Tensor queries = detail::random_feature_logits(q, options.projection, scale, false);  // [B,N,T,M]
  // What a masked key holds is kept from the projection's gradient too.
  const at::Tensor seen = mask.defined() ? k.masked_fill(mask.logical_not().unsqueeze(1).unsqueeze(3), 0) : k;
  const at::Tensor keys = detail::random_feature_logits(seen, options.projection, scale, true);  // [B,N,S,M]
  return detail::call_linear_attend(queries, keys, v.to(queries.scalar_type()), detail::given(mask),
                                    exponential, options.causal)
      .to(q.scalar_type());
}

}  // namespace ops
}  // namespace gaze
