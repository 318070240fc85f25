#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "modules/ops/optional_tensor.h"
#include "modules/ops/window_attend/window_attend_rooms.h"

namespace gaze {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class WindowAttendFunction : public torch::autograd::Function<WindowAttendFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v, at::IntArrayRef before, at::IntArrayRef after,
                               at::IntArrayRef dilation, at::IntArrayRef borders, std::optional<double> scale,
                               int64_t weights) {
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [output, returned_weights, log_sum_exp] =
        detail::call_window_attend(q, k, v, before, after, dilation, borders, scale, weights);
    context->save_for_backward({q, k, v});
    context->saved_data["before"] = before.vec();
    context->saved_data["after"] = after.vec();
    context->saved_data["dilation"] = dilation.vec();
    context->saved_data["borders"] = borders.vec();
    context->saved_data["scale"] = scale;
    context->set_materialize_grads(false);
    variable_list constant{log_sum_exp};
    if (weights == 0) constant.push_back(returned_weights);
    context->mark_non_differentiable(constant);
    return {output, returned_weights, log_sum_exp};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    variable_list result(9);  // of q, k, v and the six options
    if (!grads[0].defined() && !grads[1].defined()) return result;
    const variable_list saved = context->get_saved_variables();
    const auto list = [&](const char* name) { return context->saved_data[name].toIntVector(); };
    auto [grad_q, grad_k, grad_v] = detail::call_window_attend_backward(
        saved[0], saved[1], saved[2], detail::given(grads[0]), detail::given(grads[1]), list("before"),
        list("after"), list("dilation"), list("borders"), context->saved_data["scale"].toOptional<double>());
    result[0] = grad_q;
    result[1] = grad_k;
    result[2] = grad_v;
    return result;
  }
};

detail::WindowAttendForward window_attend_autograd(const at::Tensor& q, const at::Tensor& k,
                                                   const at::Tensor& v, at::IntArrayRef before,
                                                   at::IntArrayRef after, at::IntArrayRef dilation,
                                                   at::IntArrayRef borders, std::optional<double> scale,
                                                   int64_t weights) {
  const variable_list result =
      WindowAttendFunction::apply(q, k, v, before, after, dilation, borders, scale, weights);
  return {result[0], result[1], result[2]};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, Autograd, library) {
  library.impl("window_attend", window_attend_autograd);
  library.impl("window_attend_backward", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace gaze
