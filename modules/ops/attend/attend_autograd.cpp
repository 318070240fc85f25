#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "modules/ops/attend/attend_rooms.h"
#include "modules/ops/optional_tensor.h"

namespace gaze {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class AttendFunction : public torch::autograd::Function<AttendFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v, const std::optional<at::Tensor>& mask,
                               std::optional<double> scale, bool causal, int64_t weights) {
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [output, returned_weights, log_sum_exp] = detail::call_attend(q, k, v, mask, scale, causal, weights);
    context->save_for_backward({q, k, v, mask.value_or(at::Tensor()), log_sum_exp});
    context->saved_data["scale"] = scale;
    context->saved_data["causal"] = causal;
    context->saved_data["mask_gradient"] =
        detail::is_given(mask) && mask->is_floating_point() && mask->requires_grad();
    context->set_materialize_grads(false);
    variable_list constant{log_sum_exp};
    if (weights == 0) constant.push_back(returned_weights);
    context->mark_non_differentiable(constant);
    return {output, returned_weights, log_sum_exp};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    variable_list result(7);  // of q, k, v, mask, scale, causal, weights
    if (!grads[0].defined() && !grads[1].defined()) return result;
    const variable_list saved = context->get_saved_variables();
    const bool mask_gradient = context->saved_data["mask_gradient"].toBool();
    auto [grad_q, grad_k, grad_v, grad_mask] = detail::call_attend_backward(
        saved[0], saved[1], saved[2], detail::given(saved[3]), saved[4], detail::given(grads[0]),
        detail::given(grads[1]), context->saved_data["scale"].toOptional<double>(),
        context->saved_data["causal"].toBool(), mask_gradient);
    result[0] = grad_q;
    result[1] = grad_k;
    result[2] = grad_v;
    if (mask_gradient) result[3] = grad_mask;
    return result;
  }
};

detail::AttendForward attend_autograd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const std::optional<at::Tensor>& mask, std::optional<double> scale,
                                      bool causal, int64_t weights) {
  const variable_list result = AttendFunction::apply(q, k, v, mask, scale, causal, weights);
  return {result[0], result[1], result[2]};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, Autograd, library) {
  library.impl("attend", attend_autograd);
  library.impl("attend_backward", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace gaze
