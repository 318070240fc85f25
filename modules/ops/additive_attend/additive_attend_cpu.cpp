// additive_attend for the CPU: rows in, the kernel of this machine's instruction set called.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "modules/ops/additive_attend/additive_attend_cpu_kernel.h"
#include "modules/ops/additive_attend/additive_attend_rooms.h"
#include "modules/ops/cpu/cpu_type.h"
#include "modules/ops/cpu/torch_runtime.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace {

at::Tensor with_dense_rows(const at::Tensor& x) {
  return x.stride(2) == 1 || x.size(2) == 1 ? x : x.contiguous();
}

// The inputs in a form the kernels read, which lives as long as this.
struct Inputs {
  Inputs(const at::Tensor& any_query, const at::Tensor& any_key, const at::Tensor& any_v,
         const at::Tensor& any_values, const std::optional<at::Tensor>& mask)
      : query(with_dense_rows(any_query)),
        key(with_dense_rows(any_key)),
        v(any_v.contiguous()),
        values(with_dense_rows(any_values)) {
    p.type = detail::cpu_type(query.scalar_type());
    p.B = query.size(0);
    p.T = query.size(1);
    p.S = key.size(1);
    p.D = query.size(2);
    p.V = values.size(2);
    p.query = detail::place_of(query);
    p.key = detail::place_of(key);
    p.v = detail::place_of(v);
    p.values = detail::place_of(values);
    p.query_strides = {query.stride(0), query.stride(1)};
    p.key_strides = {key.stride(0), key.stride(1)};
    p.values_strides = {values.stride(0), values.stride(1)};
    if (detail::is_given(mask)) {
      pairs = detail::additive_pairs(*mask, p.T);
      p.seen = pairs.const_data_ptr<bool>();
      for (int64_t axis = 0; axis < 3; ++axis) p.mask_strides[axis] = pairs.stride(axis);
    }
  }

  at::Tensor query, key, v, values, pairs;
  detail::AdditiveInputs p{};
};

detail::AdditiveForward additive_attend_cpu(const at::Tensor& query, const at::Tensor& key,
                                            const at::Tensor& v, const at::Tensor& values,
                                            const std::optional<at::Tensor>& mask) {
  detail::check_additive_attend(query, key, v, values, mask);
  const Inputs in(query, key, v, values, mask);
  const auto statistics = query.options().dtype(detail::statistics_dtype(query.scalar_type()));
  const at::Tensor context = at::empty({in.p.B, in.p.T, in.p.V}, query.options());
  const at::Tensor weights = at::empty({in.p.B, in.p.T, in.p.S}, statistics);
  const at::Tensor log_sum_exp = at::empty({in.p.B, in.p.T}, statistics);
  const detail::AdditiveOutputs out{context.mutable_data_ptr(), weights.mutable_data_ptr(),
                                    log_sum_exp.mutable_data_ptr()};
  detail::TorchRuntime runtime;
  if (in.p.B > 0 && in.p.T > 0) GAZE_CPU_PICK(detail::additive_attend_forward)(in.p, out, runtime);
  return {context, weights, log_sum_exp};
}

detail::AdditiveBackward additive_attend_backward_cpu(const at::Tensor& query, const at::Tensor& key,
                                                      const at::Tensor& v, const at::Tensor& values,
                                                      const std::optional<at::Tensor>& mask,
                                                      const at::Tensor& log_sum_exp,
                                                      const std::optional<at::Tensor>& grad_context,
                                                      const std::optional<at::Tensor>& grad_weights) {
  const Inputs in(query, key, v, values, mask);
  const auto dense = [](const std::optional<at::Tensor>& x) {
    return detail::is_given(x) ? x->contiguous() : at::Tensor();
  };
  const at::Tensor of_context = dense(grad_context), of_weights = dense(grad_weights);
  const at::Tensor normalisers = log_sum_exp.contiguous();
  const at::Tensor grad_query = at::zeros(query.sizes(), query.options());
  const at::Tensor grad_key = at::zeros(key.sizes(), key.options());
  const at::Tensor grad_v = at::zeros(v.sizes(), v.options());
  const at::Tensor grad_values = at::zeros(values.sizes(), values.options());
  const detail::AdditiveGradients gradients{normalisers.const_data_ptr(),
                                            of_context.defined() ? of_context.const_data_ptr() : nullptr,
                                            of_weights.defined() ? of_weights.const_data_ptr() : nullptr,
                                            grad_query.mutable_data_ptr(),
                                            grad_key.mutable_data_ptr(),
                                            grad_v.mutable_data_ptr(),
                                            grad_values.mutable_data_ptr()};
  detail::TorchRuntime runtime;
  if (in.p.B > 0 && in.p.T > 0 && in.p.S > 0)
    GAZE_CPU_PICK(detail::additive_attend_backward)(in.p, gradients, runtime);
  return {grad_query, grad_key, grad_v, grad_values};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, CPU, library) {
  library.impl("additive_attend", additive_attend_cpu);
  library.impl("additive_attend_backward", additive_attend_backward_cpu);
}

}  // namespace gaze
