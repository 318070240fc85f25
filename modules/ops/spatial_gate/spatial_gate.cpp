#include "modules/ops/spatial_gate/spatial_gate.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <torch/library.h>

#include "modules/core/check.h"
#include "modules/ops/check_tail.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/spatial_gate/spatial_gate_rooms.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace {

constexpr const char* kOp = "spatial_gate";

// `value` is absent, or [1] and like x.
void check_single(const std::optional<at::Tensor>& value, const char* name, const at::Tensor& x) {
  if (!detail::is_given(value)) return;
  if (value->dim() != 1 || value->size(0) != 1) {
    check_that(false, kOp, fmt::format("{} [1]", name),
               fmt::format("{} {}", name, shape_text(value->sizes())));
  }
  check_like(*value, name, x, "x", kOp);
}

void check_kernel(const at::Tensor& weight) {
  const bool fits = weight.dim() == 4 && weight.size(0) == 1 && weight.size(1) == 2 &&
                    weight.size(2) == weight.size(3) && weight.size(2) % 2 == 1;
  if (!fits) {
    check_that(false, kOp, "weight [1, 2, k, k] with k odd",
               fmt::format("weight {}", shape_text(weight.sizes())));
  }
}

// `gate` is absent, or [B, C] in the dtype that squeeze_excite returns it in.
void check_channel_gate(const std::optional<at::Tensor>& gate, const at::Tensor& x) {
  if (!detail::is_given(gate)) return;
  check_shape(*gate, "channel_gate", {{"B", x.size(0)}, {"C", x.size(1)}}, kOp);
  const c10::ScalarType dtype = detail::statistics_dtype(x.scalar_type());
  if (gate->scalar_type() == dtype && gate->device() == x.device()) return;
  check_that(false, kOp,
             fmt::format("channel_gate {} on {} for x {}", c10::toString(dtype), x.device().str(),
                         c10::toString(x.scalar_type())),
             fmt::format("channel_gate {} on {}", c10::toString(gate->scalar_type()), gate->device().str()));
}

}  // namespace

namespace detail {

void check_spatial_gate(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                        const std::optional<at::Tensor>& norm_scale,
                        const std::optional<at::Tensor>& norm_shift,
                        const std::optional<at::Tensor>& norm_mean,
                        const std::optional<at::Tensor>& norm_variance, const std::optional<at::Tensor>& mix,
                        const std::optional<at::Tensor>& channel_gate,
                        const std::optional<at::Tensor>& residual) {
  check_shape(x, "x", {"B", "C", "H", "W"}, kOp);
  check_floating(x, "x", kOp);
  if (x.size(1) < 1 || x.size(2) < 1 || x.size(3) < 1) {
    check_that(false, kOp, "x with C, H, W >= 1", fmt::format("x {}", shape_text(x.sizes())));
  }
  check_kernel(weight);
  check_like(weight, "weight", x, "x", kOp);
  check_single(bias, "bias", x);
  check_single(norm_scale, "norm_scale", x);
  check_single(norm_shift, "norm_shift", x);
  check_single(norm_mean, "norm_mean", x);
  check_single(norm_variance, "norm_variance", x);
  check_that(is_given(norm_scale) == is_given(norm_shift), kOp, "norm_scale and norm_shift together",
             "one of them");
  check_that(is_given(norm_mean) == is_given(norm_variance), kOp, "norm_mean and norm_variance together",
             "one of them");
  check_that(is_given(norm_scale) || !is_given(norm_mean), kOp, "norm_scale where norm_mean is given",
             "none");
  if (is_given(norm_scale) && !is_given(norm_mean) && x.size(0) == 0) {
    check_that(false, kOp, "x with B >= 1 for statistics of the batch",
               fmt::format("x {}", shape_text(x.sizes())));
  }
  if (is_given(mix)) {
    check_shape(*mix, "mix", {}, kOp);
    check_like(*mix, "mix", x, "x", kOp);
  }
  check_channel_gate(channel_gate, x);
  check_residual(residual, x, kOp);
}

SpatialGateForward call_spatial_gate(
    const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& norm_scale, const std::optional<at::Tensor>& norm_shift,
    const std::optional<at::Tensor>& norm_mean, const std::optional<at::Tensor>& norm_variance, double eps,
    const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& channel_gate,
    const std::optional<at::Tensor>& residual, bool relu) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("gaze::spatial_gate", "")
                             .typed<decltype(call_spatial_gate)>();
  return op.call(x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, eps, mix, channel_gate,
                 residual, relu);
}

SpatialGateBackward call_spatial_gate_backward(
    const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& norm_scale, const std::optional<at::Tensor>& norm_shift,
    const std::optional<at::Tensor>& norm_mean, const std::optional<at::Tensor>& norm_variance, double eps,
    const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& channel_gate,
    const std::optional<at::Tensor>& grad_output, const std::optional<at::Tensor>& grad_gate) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("gaze::spatial_gate_backward", "")
                             .typed<decltype(call_spatial_gate_backward)>();
  return op.call(x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, eps, mix, channel_gate,
                 grad_output, grad_gate);
}

}  // namespace detail

namespace {

detail::SpatialGateForward spatial_gate_meta(
    const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& norm_scale, const std::optional<at::Tensor>& norm_shift,
    const std::optional<at::Tensor>& norm_mean, const std::optional<at::Tensor>& norm_variance, double,
    const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& channel_gate,
    const std::optional<at::Tensor>& residual, bool) {
  detail::check_spatial_gate(x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, mix,
                             channel_gate, residual);
  const auto statistics = x.options().dtype(detail::statistics_dtype(x.scalar_type()));
  const int64_t normed = detail::is_given(norm_scale) ? 1 : 0;
  return {at::empty(x.sizes(), x.options(), x.suggest_memory_format()),
          at::empty({x.size(0), x.size(2), x.size(3)}, statistics), at::empty({normed}, statistics),
          at::empty({normed}, statistics)};
}

detail::SpatialGateBackward spatial_gate_backward_meta(
    const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& norm_scale, const std::optional<at::Tensor>& norm_shift,
    const std::optional<at::Tensor>&, const std::optional<at::Tensor>&, double,
    const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& channel_gate,
    const std::optional<at::Tensor>&, const std::optional<at::Tensor>&) {
  const auto like = [&](const std::optional<at::Tensor>& argument) {
    return detail::is_given(argument) ? at::empty(argument->sizes(), argument->options())
                                      : at::empty({0}, x.options());
  };
  return {at::empty(x.sizes(), x.options(), x.suggest_memory_format()),
          like(weight),
          like(bias),
          like(norm_scale),
          like(norm_shift),
          like(mix),
          like(channel_gate)};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(gaze, library) {
  library.def(
      "spatial_gate(Tensor x, Tensor weight, Tensor? bias=None, Tensor? norm_scale=None, Tensor? "
      "norm_shift=None,"
      " Tensor? norm_mean=None, Tensor? norm_variance=None, float eps=1e-5, Tensor? mix=None,"
      " Tensor? channel_gate=None, Tensor? residual=None, bool relu=False)"
      " -> (Tensor output, Tensor gate, Tensor mean, Tensor variance)");
  library.def(
      "spatial_gate_backward(Tensor x, Tensor weight, Tensor? bias, Tensor? norm_scale, Tensor? norm_shift,"
      " Tensor? norm_mean, Tensor? norm_variance, float eps, Tensor? mix, Tensor? channel_gate,"
      " Tensor? grad_output, Tensor? grad_gate)"
      " -> (Tensor grad_x, Tensor grad_weight, Tensor grad_bias, Tensor grad_norm_scale, Tensor "
      "grad_norm_shift,"
      " Tensor grad_mix, Tensor grad_channel_gate)");
}

TORCH_LIBRARY_IMPL(gaze, Meta, library) {
  library.impl("spatial_gate", spatial_gate_meta);
  library.impl("spatial_gate_backward", spatial_gate_backward_meta);
}

namespace ops {

SpatialGated spatial_gate(const at::Tensor& x, const SpatialGateWeights& weights, const at::Tensor& mix,
                          const Tail& tail, const at::Tensor& channel_gate) {
  // The dispatcher picks a backend from these and so needs them; the rest is checked by the backend's kernel.
  check_shape(x, "x", {"B", "C", "H", "W"}, kOp);
  check_that(weights.weight.defined(), kOp, "weight [1, 2, k, k] with k odd", "weight undefined");
  const SpatialNorm& norm = weights.norm;
  auto [output, gate, mean, variance] = detail::call_spatial_gate(
      x, weights.weight, detail::given(weights.bias), detail::given(norm.scale), detail::given(norm.shift),
      detail::given(norm.mean), detail::given(norm.variance), norm.eps, detail::given(mix),
      detail::given(channel_gate), detail::given(tail.residual), tail.relu);
  if (!norm.scale.defined()) return {output, gate, {}, {}};
  return {output, gate, mean, variance};
}

}  // namespace ops
}  // namespace gaze
