// squeeze_excite for the CPU: dense tensors in, the kernel of this machine's instruction set called.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "modules/ops/cpu/torch_runtime.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/squeeze_excite/squeeze_excite_cpu.h"
#include "modules/ops/squeeze_excite/squeeze_excite_rooms.h"

namespace gaze {
namespace {

using detail::is_given;
using Arguments = detail::SqueezeExciteArguments;

detail::SqueezeExciteForward squeeze_excite_cpu(const at::Tensor& any_x, const at::Tensor& w1,
                                                const std::optional<at::Tensor>& b1, const at::Tensor& w2,
                                                const std::optional<at::Tensor>& b2,
                                                const std::optional<at::Tensor>& mix,
                                                const std::optional<at::Tensor>& residual, bool max_pool,
                                                bool relu, bool gate_only) {
  detail::check_squeeze_excite(any_x, w1, b1, w2, b2, mix, residual, relu, gate_only);
  Arguments arguments(any_x, w1, b1, w2, b2, mix, max_pool);
  const at::Tensor& x = arguments.x;
  const at::Tensor added = is_given(residual) ? arguments.like_x(*residual) : at::Tensor();
  const at::Tensor output = gate_only ? at::empty({0}, x.options())
                                      : at::empty(x.sizes(), x.options(), any_x.suggest_memory_format());
  const at::Tensor gate = at::empty({x.size(0), x.size(1)}, arguments.w1.options());
  arguments.p.residual = added.defined() ? added.const_data_ptr() : nullptr;
  arguments.p.relu = relu;
  arguments.p.output = gate_only ? nullptr : output.mutable_data_ptr();
  arguments.p.gate = gate.mutable_data_ptr();
  detail::TorchRuntime runtime;
  GAZE_CPU_PICK(detail::squeeze_excite_forward)(arguments.p, runtime);
  return {output, gate};
}

detail::SqueezeExciteBackward squeeze_excite_backward_cpu(
    const at::Tensor& any_x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, const std::optional<at::Tensor>& mix,
    const std::optional<at::Tensor>& grad_output, const std::optional<at::Tensor>& grad_gate, bool max_pool) {
  Arguments arguments(any_x, w1, b1, w2, b2, mix, max_pool);
  const at::Tensor& x = arguments.x;
  const auto statistics = arguments.w1.options();
  const at::Tensor grad = is_given(grad_output) ? arguments.like_x(*grad_output) : at::Tensor();
  const at::Tensor of_gate = is_given(grad_gate) ? arguments.wide(*grad_gate) : at::Tensor();
  const at::Tensor grad_x = at::empty(x.sizes(), x.options(), any_x.suggest_memory_format());
  const at::Tensor grad_w1 = at::empty(w1.sizes(), statistics), grad_b1 = at::empty({w1.size(0)}, statistics);
  const at::Tensor grad_w2 = at::empty(w2.sizes(), statistics), grad_b2 = at::empty({w2.size(0)}, statistics);
  double grad_mix = 0;
  arguments.p.grad_output = grad.defined() ? grad.const_data_ptr() : nullptr;
  arguments.p.grad_gate = of_gate.defined() ? of_gate.const_data_ptr() : nullptr;
  arguments.p.grad_x = grad_x.mutable_data_ptr();
  arguments.p.grad_w1 = grad_w1.mutable_data_ptr();
  arguments.p.grad_b1 = grad_b1.mutable_data_ptr();
  arguments.p.grad_w2 = grad_w2.mutable_data_ptr();
  arguments.p.grad_b2 = grad_b2.mutable_data_ptr();
  arguments.p.grad_mix = &grad_mix;
  detail::TorchRuntime runtime;
  GAZE_CPU_PICK(detail::squeeze_excite_backward)(arguments.p, runtime);
  const at::ScalarType dtype = x.scalar_type();
  const at::Tensor none = at::empty({0}, x.options());
  return {grad_x,
          grad_w1.to(dtype),
          is_given(b1) ? grad_b1.to(dtype) : none,
          grad_w2.to(dtype),
          is_given(b2) ? grad_b2.to(dtype) : none,
          is_given(mix) ? at::full({}, grad_mix, x.options()) : none};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, CPU, library) {
  library.impl("squeeze_excite", squeeze_excite_cpu);
  library.impl("squeeze_excite_backward", squeeze_excite_backward_cpu);
}

}  // namespace gaze
