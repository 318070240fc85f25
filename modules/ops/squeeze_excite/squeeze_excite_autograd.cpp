#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/threshold_backward.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "modules/ops/optional_tensor.h"
#include "modules/ops/squeeze_excite/squeeze_excite_rooms.h"

namespace gaze {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class SqueezeExciteFunction : public torch::autograd::Function<SqueezeExciteFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& w1,
                               const std::optional<at::Tensor>& b1, const at::Tensor& w2,
                               const std::optional<at::Tensor>& b2, const std::optional<at::Tensor>& mix,
                               const std::optional<at::Tensor>& residual, bool max_pool, bool relu,
                               bool gate_only) {
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [output, gate] =
        detail::call_squeeze_excite(x, w1, b1, w2, b2, mix, residual, max_pool, relu, gate_only);
    const at::Tensor none;
    context->save_for_backward({x, w1, b1.value_or(none), w2, b2.value_or(none), mix.value_or(none),
                                relu ? output : none});  // the ReLU's mask is where it is positive
    context->saved_data["max_pool"] = max_pool;
    context->saved_data["residual"] = detail::is_given(residual);
    context->set_materialize_grads(false);
    if (gate_only) context->mark_non_differentiable({output});
    return {output, gate};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    variable_list result(10);  // of x, w1, b1, w2, b2, mix, residual, max_pool, relu, gate_only
    if (!grads[0].defined() && !grads[1].defined()) return result;
    const variable_list saved = context->get_saved_variables();
    if (grads[0].defined() && saved[6].defined()) grads[0] = at::threshold_backward(grads[0], saved[6], 0);
    const auto all = detail::call_squeeze_excite_backward(
        saved[0], saved[1], detail::given(saved[2]), saved[3], detail::given(saved[4]),
        detail::given(saved[5]), detail::given(grads[0]), detail::given(grads[1]),
        context->saved_data["max_pool"].toBool());
    result[0] = std::get<0>(all);
    result[1] = std::get<1>(all);
    if (saved[2].defined()) result[2] = std::get<2>(all);
    result[3] = std::get<3>(all);
    if (saved[4].defined()) result[4] = std::get<4>(all);
    if (saved[5].defined()) result[5] = std::get<5>(all);
    if (context->saved_data["residual"].toBool()) result[6] = grads[0];
    return result;
  }
};

detail::SqueezeExciteForward squeeze_excite_autograd(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, const std::optional<at::Tensor>& mix,
    const std::optional<at::Tensor>& residual, bool max_pool, bool relu, bool gate_only) {
  const variable_list result =
      SqueezeExciteFunction::apply(x, w1, b1, w2, b2, mix, residual, max_pool, relu, gate_only);
  return {result[0], result[1]};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, Autograd, library) {
  library.impl("squeeze_excite", squeeze_excite_autograd);
  library.impl("squeeze_excite_backward", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace gaze
