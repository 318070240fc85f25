// Backward of attend, and its Autograd registration.
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "modules/ops/attend/attend_rooms.h"
#include "modules/ops/optional_tensor.h"

namespace gaze {
namespace {

using detail::MaybeTensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class AttendFunction : public torch::autograd::Function<AttendFunction> {
 public:
  // Tensors are arguments of their own: autograd looks for inputs nowhere else.
  static variable_list forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v, const MaybeTensor& mask, const MaybeTensor& bias,
                               const MaybeTensor& key_mask, const MaybeTensor& relative,
                               const MaybeTensor& row_bias, const MaybeTensor& column_bias,
                               const detail::AttendRules& rules, const detail::AttendAsked& asked) {
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [output, log_sum_exp, weights, key_sums, entropy] =
        detail::call_attend({q, k, v, mask, bias, key_mask, relative, row_bias, column_bias}, rules, asked);
    const auto or_none = [](const MaybeTensor& x) { return x.value_or(at::Tensor()); };
    context->save_for_backward({q, k, v, or_none(mask), or_none(bias), or_none(key_mask), or_none(relative),
                                or_none(row_bias), or_none(column_bias), log_sum_exp});
    auto& data = context->saved_data;
    data["scale"] = rules.scale;
    data["causal"] = rules.causal;
    data["relative_inside"] = rules.relative_inside;
    data["dropout"] = rules.dropout;
    data["seed"] = rules.seed;
    data["weights"] = static_cast<int64_t>(asked.weights);
    data["rows"] = asked.rows;
    const auto wants = [](const MaybeTensor& x) { return detail::is_given(x) && x->requires_grad(); };
    data["wanted"] = std::vector<bool>{wants(bias), wants(relative), wants(row_bias), wants(column_bias)};
    context->set_materialize_grads(false);
    variable_list constant;
    if (asked.weights == ops::AttendWeights::none) constant.push_back(weights);
    if (!asked.key_sums) constant.push_back(key_sums);
    if (!asked.entropy) constant.push_back(entropy);
    context->mark_non_differentiable(constant);
    return {output, log_sum_exp, weights, key_sums, entropy};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    variable_list result(11);  // of q, k, v, mask, bias, key_mask, relative, row_bias, column_bias, the rest
    bool any = false;
    for (const at::Tensor& grad : grads) any = any || grad.defined();
    if (!any) return result;
    const variable_list saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const auto wanted = data["wanted"].toBoolList();
    const auto given = [&](size_t i) { return detail::given(saved[i]); };
    const auto all = detail::call_attend_backward(
        {saved[0], saved[1], saved[2], given(3), given(4), given(5), given(6), given(7), given(8)},
        {data["scale"].toOptional<double>(), data["causal"].toBool(), data["relative_inside"].toBool(),
         data["dropout"].toDouble(), data["seed"].toInt()},
        {static_cast<ops::AttendWeights>(data["weights"].toInt()), data["rows"].toIntVector()}, saved[9],
        {detail::given(grads[0]), detail::given(grads[1]), detail::given(grads[2]), detail::given(grads[3]),
         detail::given(grads[4])},
        {wanted[0], wanted[1], wanted[2], wanted[3]});
    result[0] = std::get<0>(all);
    result[1] = std::get<1>(all);
    result[2] = std::get<2>(all);
    if (wanted[0]) result[4] = std::get<3>(all);
    if (wanted[1]) result[6] = std::get<4>(all);
    if (wanted[2]) result[7] = std::get<5>(all);
    if (wanted[3]) result[8] = std::get<6>(all);
    return result;
  }
};

detail::AttendForward attend_autograd(const detail::AttendInputs& in, const detail::AttendRules& rules,
                                      const detail::AttendAsked& asked) {
  const variable_list result = AttendFunction::apply(in.q, in.k, in.v, in.mask, in.bias, in.key_mask,
                                                     in.relative, in.row_bias, in.column_bias, rules, asked);
  return {result[0], result[1], result[2], result[3], result[4]};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, Autograd, library) {
  library.impl("attend", detail::attend_flat<attend_autograd>);
  library.impl("attend_backward", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace gaze
