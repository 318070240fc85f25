#include "modules/ops/channel_spatial_gate/channel_spatial_gate.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/library.h>

#include "modules/core/check.h"
#include "modules/ops/channel_spatial_gate/channel_spatial_gate_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/spatial_gate/spatial_gate_rooms.h"
#include "modules/ops/squeeze_excite/squeeze_excite_rooms.h"

namespace gaze {
namespace detail {

ChannelSpatialGateForward call_channel_spatial_gate(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, bool max_pool, const at::Tensor& weight,
    const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& norm_scale,
    const std::optional<at::Tensor>& norm_shift, const std::optional<at::Tensor>& norm_mean,
    const std::optional<at::Tensor>& norm_variance, double eps, const std::optional<at::Tensor>& mix,
    const std::optional<at::Tensor>& residual, bool relu) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("gaze::channel_spatial_gate", "")
                             .typed<decltype(call_channel_spatial_gate)>();
  return op.call(x, w1, b1, w2, b2, max_pool, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance,
                 eps, mix, residual, relu);
}

ChannelSpatialGateForward channel_spatial_gate_composed(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, bool max_pool, const at::Tensor& weight,
    const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& norm_scale,
    const std::optional<at::Tensor>& norm_shift, const std::optional<at::Tensor>& norm_mean,
    const std::optional<at::Tensor>& norm_variance, double eps, const std::optional<at::Tensor>& mix,
    const std::optional<at::Tensor>& residual, bool relu) {
  const at::Tensor channel_gate =
      std::get<1>(call_squeeze_excite(x, w1, b1, w2, b2, mix, {}, max_pool, false, true));
  const auto [output, gate, mean, variance] =
      call_spatial_gate(x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, eps, mix,
                        channel_gate, residual, relu);
  return {output, channel_gate, gate, mean, variance};
}

}  // namespace detail

namespace {

// The two ops know their gradients: the joint one is for passes that ask for none.
detail::ChannelSpatialGateForward channel_spatial_gate_autograd(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, bool max_pool, const at::Tensor& weight,
    const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& norm_scale,
    const std::optional<at::Tensor>& norm_shift, const std::optional<at::Tensor>& norm_mean,
    const std::optional<at::Tensor>& norm_variance, double eps, const std::optional<at::Tensor>& mix,
    const std::optional<at::Tensor>& residual, bool relu) {
  if (torch::autograd::compute_requires_grad(x, w1, b1, w2, b2, weight, bias, norm_scale, norm_shift, mix,
                                             residual))
    return detail::channel_spatial_gate_composed(x, w1, b1, w2, b2, max_pool, weight, bias, norm_scale,
                                                 norm_shift, norm_mean, norm_variance, eps, mix, residual,
                                                 relu);
  const at::AutoDispatchBelowADInplaceOrView below;
  return detail::call_channel_spatial_gate(x, w1, b1, w2, b2, max_pool, weight, bias, norm_scale, norm_shift,
                                           norm_mean, norm_variance, eps, mix, residual, relu);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(gaze, library) {
  library.def(
      "channel_spatial_gate(Tensor x, Tensor w1, Tensor? b1, Tensor w2, Tensor? b2, bool max_pool, Tensor "
      "weight,"
      " Tensor? bias=None, Tensor? norm_scale=None, Tensor? norm_shift=None, Tensor? norm_mean=None,"
      " Tensor? norm_variance=None, float eps=1e-5, Tensor? mix=None, Tensor? residual=None, bool relu=False)"
      " -> (Tensor output, Tensor channel_gate, Tensor gate, Tensor mean, Tensor variance)");
}

TORCH_LIBRARY_IMPL(gaze, Autograd, library) {
  library.impl("channel_spatial_gate", channel_spatial_gate_autograd);
}

// Meta too: the two ops know their shapes.
TORCH_LIBRARY_IMPL(gaze, CompositeExplicitAutograd, library) {
  library.impl("channel_spatial_gate", detail::channel_spatial_gate_composed);
}

namespace ops {

ChannelSpatialGated channel_spatial_gate(const at::Tensor& x, const SqueezeExciteWeights& channel,
                                         const SpatialGateWeights& spatial, Pool pool, const at::Tensor& mix,
                                         const Tail& tail) {
  // The dispatcher picks a backend from these and so needs them; the rest is checked by the backend's kernel.
  check_shape(x, "x", {"B", "C", "H", "W"}, "channel_spatial_gate");
  check_shape(channel.w1, "w1", {"R", "C"}, "channel_spatial_gate");
  check_shape(channel.w2, "w2", {"C", "R"}, "channel_spatial_gate");
  check_that(spatial.weight.defined(), "channel_spatial_gate", "weight [1, 2, k, k] with k odd",
             "weight undefined");
  const SpatialNorm& norm = spatial.norm;
  const auto [output, channel_gate, gate, mean, variance] = detail::call_channel_spatial_gate(
      x, channel.w1, detail::given(channel.b1), channel.w2, detail::given(channel.b2), pool == Pool::avg_max,
      spatial.weight, detail::given(spatial.bias), detail::given(norm.scale), detail::given(norm.shift),
      detail::given(norm.mean), detail::given(norm.variance), norm.eps, detail::given(mix),
      detail::given(tail.residual), tail.relu);
  if (!norm.scale.defined()) return {output, channel_gate, gate, {}, {}};
  return {output, channel_gate, gate, mean, variance};
}

}  // namespace ops
}  // namespace gaze
