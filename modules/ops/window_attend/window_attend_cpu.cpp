// window_attend for the CPU: rows in, the kernel of this machine's instruction set called.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "modules/ops/attend/attend_math.h"
#include "modules/ops/cpu/cpu_type.h"
#include "modules/ops/cpu/torch_runtime.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/statistics.h"
#include "modules/ops/window_attend/window_attend_cpu_kernel.h"
#include "modules/ops/window_attend/window_attend_rooms.h"

namespace gaze {
namespace {

// A tensor [B, N, T, D] or [B, N, H, W, D] with dense rows, and where they are.
struct Map {
  at::Tensor x;

  explicit Map(const at::Tensor& any) : x(any) {
    if (x.stride(-1) != 1 && x.size(-1) != 1) x = x.contiguous();
  }

  detail::MapRows rows() const {
    const bool two = x.dim() == 5;
    return {detail::place_of(x), x.stride(0), x.stride(1), two ? x.stride(2) : 0, x.stride(two ? 3 : 2)};
  }
};

struct Inputs {
  Map q, k, v;
  detail::WindowAttendCpu p{};

  Inputs(const at::Tensor& any_q, const at::Tensor& any_k, const at::Tensor& any_v,
         const detail::WindowLists& windows, std::optional<double> scale)
      : q(any_q), k(any_k), v(any_v) {
    p.type = detail::cpu_type(any_q.scalar_type());
    p.B = any_q.size(0);
    p.N = any_q.size(1);
    p.D = any_q.size(-1);
    p.V = any_v.size(-1);
    const detail::WindowAxes axes = detail::window_axes(any_q, windows);
    p.rows = axes.rows;
    p.columns = axes.columns;
    p.q = q.rows();
    p.k = k.rows();
    p.v = v.rows();
    p.scale = scale.value_or(detail::attend_default_scale(p.D));
  }

  bool empty() const { return p.B * p.N * p.rows.length * p.columns.length == 0; }
};

detail::WindowAttendForward window_attend_cpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                              at::IntArrayRef before, at::IntArrayRef after,
                                              at::IntArrayRef dilation, at::IntArrayRef borders,
                                              std::optional<double> scale, int64_t weights) {
  const detail::WindowLists windows{before, after, dilation, borders};
  detail::check_window_attend(q, k, v, windows, weights);
  Inputs inputs(q, k, v, windows, scale);
  const auto statistics = q.options().dtype(detail::statistics_dtype(q.scalar_type()));
  const at::Tensor output = at::empty(v.sizes(), q.options());
  const at::Tensor returned = at::empty(detail::window_attend_weights_shape(q, windows, weights), statistics);
  const at::Tensor log_sum_exp = at::empty(detail::window_attend_cells(q), statistics);
  const auto which = static_cast<ops::AttendWeights>(weights);
  inputs.p.output = output.mutable_data_ptr();
  if (which == ops::AttendWeights::per_head) inputs.p.weights = returned.mutable_data_ptr();
  if (which == ops::AttendWeights::head_mean) inputs.p.mean_weights = returned.mutable_data_ptr();
  inputs.p.log_sum_exp = log_sum_exp.mutable_data_ptr();
  detail::TorchRuntime runtime;
  if (!inputs.empty()) GAZE_CPU_PICK(detail::window_attend_forward)(inputs.p, runtime);
  return {output, returned, log_sum_exp};
}

detail::WindowAttendBackward window_attend_backward_cpu(const at::Tensor& q, const at::Tensor& k,
                                                        const at::Tensor& v,
                                                        const std::optional<at::Tensor>& grad_output,
                                                        const std::optional<at::Tensor>& grad_weights,
                                                        at::IntArrayRef before, at::IntArrayRef after,
                                                        at::IntArrayRef dilation, at::IntArrayRef borders,
                                                        std::optional<double> scale) {
  const Inputs inputs(q, k, v, {before, after, dilation, borders}, scale);
  detail::WindowAttendBackwardCpu p{};
  p.forward = inputs.p;
  std::optional<Map> of_output;
  if (detail::is_given(grad_output)) p.grad_output = of_output.emplace(*grad_output).rows();
  at::Tensor of_weights;
  if (detail::is_given(grad_weights)) {
    of_weights = grad_weights->to(detail::statistics_dtype(q.scalar_type())).contiguous();
    const bool of_mean = of_weights.dim() == q.dim() - 1;
    (of_mean ? p.grad_mean_weights : p.grad_weights) = of_weights.const_data_ptr();
  }
  const auto like = [](const at::Tensor& x) { return at::empty(x.sizes(), x.options()); };
  const at::Tensor grad_q = like(q), grad_k = like(k), grad_v = like(v);
  p.grad_q = grad_q.mutable_data_ptr();
  p.grad_k = grad_k.mutable_data_ptr();
  p.grad_v = grad_v.mutable_data_ptr();
  detail::TorchRuntime runtime;
  if (!inputs.empty()) GAZE_CPU_PICK(detail::window_attend_backward)(p, runtime);
  return {grad_q, grad_k, grad_v};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, CPU, library) {
  library.impl("window_attend", window_attend_cpu);
  library.impl("window_attend_backward", window_attend_backward_cpu);
}

}  // namespace gaze
