#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "modules/ops/additive_attend/additive_attend_rooms.h"
#include "modules/ops/optional_tensor.h"

namespace gaze {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class AdditiveAttendFunction : public torch::autograd::Function<AdditiveAttendFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& v, const at::Tensor& values,
                               const std::optional<at::Tensor>& mask) {
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [attended, weights, log_sum_exp] = detail::call_additive_attend(query, key, v, values, mask);
    context->save_for_backward({query, key, v, values, mask.value_or(at::Tensor()), log_sum_exp});
    context->set_materialize_grads(false);
    context->mark_non_differentiable({log_sum_exp});
    return {attended, weights, log_sum_exp};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    variable_list result(5);  // of query, key, v, values, mask
    if (!grads[0].defined() && !grads[1].defined()) return result;
    const variable_list saved = context->get_saved_variables();
    auto [grad_query, grad_key, grad_v, grad_values] =
        detail::call_additive_attend_backward(saved[0], saved[1], saved[2], saved[3], detail::given(saved[4]),
                                              saved[5], detail::given(grads[0]), detail::given(grads[1]));
    result[0] = grad_query;
    result[1] = grad_key;
    result[2] = grad_v;
    result[3] = grad_values;
    return result;
  }
};

detail::AdditiveForward additive_attend_autograd(const at::Tensor& query, const at::Tensor& key,
                                                 const at::Tensor& v, const at::Tensor& values,
                                                 const std::optional<at::Tensor>& mask) {
  const variable_list result = AdditiveAttendFunction::apply(query, key, v, values, mask);
  return {result[0], result[1], result[2]};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, Autograd, library) {
  library.impl("additive_attend", additive_attend_autograd);
  library.impl("additive_attend_backward", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace gaze
