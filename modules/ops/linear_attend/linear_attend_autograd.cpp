#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "modules/ops/linear_attend/linear_attend_rooms.h"
#include "modules/ops/optional_tensor.h"

namespace gaze {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class LinearAttendFunction : public torch::autograd::Function<LinearAttendFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const std::optional<at::Tensor>& mask, int64_t map,
                            bool causal) {
    const at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({q, k, v, mask.value_or(at::Tensor())});
    context->saved_data["map"] = map;
    context->saved_data["causal"] = causal;
    context->set_materialize_grads(false);
    return detail::call_linear_attend(q, k, v, mask, map, causal);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    variable_list result(6);  // of q, k, v, mask, map, causal
    if (!grads[0].defined()) return result;
    const variable_list saved = context->get_saved_variables();
    std::tie(result[0], result[1], result[2]) = detail::call_linear_attend_backward(
        saved[0], saved[1], saved[2], detail::given(saved[3]), grads[0], context->saved_data["map"].toInt(),
        context->saved_data["causal"].toBool());
    return result;
  }
};

at::Tensor linear_attend_autograd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const std::optional<at::Tensor>& mask, int64_t map, bool causal) {
  return LinearAttendFunction::apply(q, k, v, mask, map, causal);
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, Autograd, library) {
  library.impl("linear_attend", linear_attend_autograd);
  library.impl("linear_attend_backward", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace gaze
