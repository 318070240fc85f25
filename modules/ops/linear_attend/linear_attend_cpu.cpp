// linear_attend for the CPU: tensors with dense rows in, the kernel of this machine's instruction set called.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "modules/ops/attend/attend_math.h"
#include "modules/ops/cpu/cpu_type.h"
#include "modules/ops/cpu/torch_runtime.h"
#include "modules/ops/linear_attend/linear_attend_cpu_kernel.h"
#include "modules/ops/linear_attend/linear_attend_rooms.h"
#include "modules/ops/optional_tensor.h"

namespace gaze {
namespace {

at::Tensor with_dense_rows(const at::Tensor& x) {
  return x.stride(3) == 1 || x.size(3) == 1 ? x : x.contiguous();
}

detail::LinearAttendRows rows_of(const at::Tensor& x) {
  return {detail::place_of(x), x.stride(0), x.stride(1), x.stride(2)};
}

// The arguments of both directions in the form the kernel reads, kept alive.
struct Arguments {
  at::Tensor q, k, v;
  detail::LinearAttendCpu p{};

  Arguments(const at::Tensor& any_q, const at::Tensor& any_k, const at::Tensor& any_v,
            const std::optional<at::Tensor>& mask, int64_t map, bool causal)
      : q(with_dense_rows(any_q)), k(with_dense_rows(any_k)), v(with_dense_rows(any_v)) {
    p.type = detail::cpu_type(q.scalar_type());
    p.map = static_cast<detail::LinearAttendMap>(map);
    p.B = q.size(0);
    p.N = q.size(1);
    p.T = q.size(2);
    p.S = k.size(2);
    p.D = q.size(3);
    p.V = v.size(3);
    p.causal = causal;
    p.lag = detail::attend_last_key(0, p.T, p.S);
    p.q = rows_of(q);
    p.k = rows_of(k);
    p.v = rows_of(v);
    if (!detail::is_given(mask)) return;
    p.mask = mask->const_data_ptr<bool>();
    p.mask_b = mask->stride(0);
    p.mask_s = mask->stride(1);
  }
};

at::Tensor linear_attend_cpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const std::optional<at::Tensor>& mask, int64_t map, bool causal) {
  detail::check_linear_attend(q, k, v, mask, map);
  Arguments arguments(q, k, v, mask, map, causal);
  at::Tensor output = at::empty({q.size(0), q.size(1), q.size(2), v.size(3)}, q.options());
  arguments.p.output = output.mutable_data_ptr();
  detail::TorchRuntime runtime;
  GAZE_CPU_PICK(detail::linear_attend_forward)(arguments.p, runtime);
  return output;
}

detail::LinearAttendBackward linear_attend_backward_cpu(const at::Tensor& q, const at::Tensor& k,
                                                        const at::Tensor& v,
                                                        const std::optional<at::Tensor>& mask,
                                                        const at::Tensor& any_grad, int64_t map,
                                                        bool causal) {
  Arguments arguments(q, k, v, mask, map, causal);
  const at::Tensor grad = with_dense_rows(any_grad);
  const at::Tensor grad_q = at::empty(q.sizes(), q.options()), grad_k = at::empty(k.sizes(), k.options()),
                   grad_v = at::empty(v.sizes(), v.options());
  arguments.p.grad_output = rows_of(grad);
  arguments.p.grad_q = grad_q.mutable_data_ptr();
  arguments.p.grad_k = grad_k.mutable_data_ptr();
  arguments.p.grad_v = grad_v.mutable_data_ptr();
  detail::TorchRuntime runtime;
  GAZE_CPU_PICK(detail::linear_attend_backward)(arguments.p, runtime);
  return {grad_q, grad_k, grad_v};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, CPU, library) {
  library.impl("linear_attend", linear_attend_cpu);
  library.impl("linear_attend_backward", linear_attend_backward_cpu);
}

}  // namespace gaze
