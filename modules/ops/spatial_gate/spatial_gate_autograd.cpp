#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/threshold_backward.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "modules/ops/optional_tensor.h"
#include "modules/ops/spatial_gate/spatial_gate_rooms.h"

namespace gaze {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class SpatialGateFunction : public torch::autograd::Function<SpatialGateFunction> {
 public:
  static variable_list forward(
      AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
      const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& norm_scale,
      const std::optional<at::Tensor>& norm_shift, const std::optional<at::Tensor>& norm_mean,
      const std::optional<at::Tensor>& norm_variance, double eps, const std::optional<at::Tensor>& mix,
      const std::optional<at::Tensor>& channel_gate, const std::optional<at::Tensor>& residual, bool relu) {
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [output, gate, mean, variance] =
        detail::call_spatial_gate(x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, eps, mix,
                                  channel_gate, residual, relu);
    // The given statistics are usually running ones, updated in place before backward: the returned copies
    // are kept.
    const bool fixed = detail::is_given(norm_mean);
    const at::Tensor none;
    context->save_for_backward({x, weight, bias.value_or(none), norm_scale.value_or(none),
                                norm_shift.value_or(none), fixed ? mean : none, fixed ? variance : none,
                                mix.value_or(none), channel_gate.value_or(none),
                                relu ? output : none});  // the ReLU's mask is where it is positive
    context->saved_data["residual"] = detail::is_given(residual);
    context->saved_data["eps"] = eps;
    context->set_materialize_grads(false);
    context->mark_non_differentiable({mean, variance});
    return {output, gate, mean, variance};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    // Of x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, eps, mix, channel_gate, residual,
    // relu.
    variable_list result(12);
    if (!grads[0].defined() && !grads[1].defined()) return result;
    const variable_list saved = context->get_saved_variables();
    if (grads[0].defined() && saved[9].defined()) grads[0] = at::threshold_backward(grads[0], saved[9], 0);
    const auto all = detail::call_spatial_gate_backward(
        saved[0], saved[1], detail::given(saved[2]), detail::given(saved[3]), detail::given(saved[4]),
        detail::given(saved[5]), detail::given(saved[6]), context->saved_data["eps"].toDouble(),
        detail::given(saved[7]), detail::given(saved[8]), detail::given(grads[0]), detail::given(grads[1]));
    result[0] = std::get<0>(all);
    result[1] = std::get<1>(all);
    if (saved[2].defined()) result[2] = std::get<2>(all);
    if (saved[3].defined()) result[3] = std::get<3>(all);
    if (saved[4].defined()) result[4] = std::get<4>(all);
    if (saved[7].defined()) result[8] = std::get<5>(all);
    if (saved[8].defined()) result[9] = std::get<6>(all);
    if (context->saved_data["residual"].toBool()) result[10] = grads[0];
    return result;
  }
};

detail::SpatialGateForward spatial_gate_autograd(
    const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& norm_scale, const std::optional<at::Tensor>& norm_shift,
    const std::optional<at::Tensor>& norm_mean, const std::optional<at::Tensor>& norm_variance, double eps,
    const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& channel_gate,
    const std::optional<at::Tensor>& residual, bool relu) {
  const variable_list result =
      SpatialGateFunction::apply(x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, eps, mix,
                                 channel_gate, residual, relu);
  return {result[0], result[1], result[2], result[3]};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, Autograd, library) {
  library.impl("spatial_gate", spatial_gate_autograd);
  library.impl("spatial_gate_backward", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace gaze
