// attend for the CPU: rows in, the kernel of this machine's instruction set called. Backward is the composed
// room's.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "modules/ops/attend/attend_cpu_kernel.h"
#include "modules/ops/attend/attend_math.h"
#include "modules/ops/attend/attend_rooms.h"
#include "modules/ops/cpu/cpu_type.h"
#include "modules/ops/cpu/torch_runtime.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace {

at::Tensor with_dense_rows(const at::Tensor& x) {
  return x.stride(3) == 1 || x.size(3) == 1 ? x : x.contiguous();
}

detail::RowStrides strides_of(const at::Tensor& x) {
  return {x.stride(0), x.stride(1), x.stride(2)};
}

detail::AttendForward attend_cpu(const at::Tensor& any_q, const at::Tensor& any_k, const at::Tensor& any_v,
                                 const std::optional<at::Tensor>& mask, std::optional<double> scale,
                                 bool causal, int64_t weights) {
  detail::check_attend(any_q, any_k, any_v, mask, weights);
  const at::Tensor q = with_dense_rows(any_q), k = with_dense_rows(any_k), v = with_dense_rows(any_v);
  const auto statistics = q.options().dtype(detail::statistics_dtype(q.scalar_type()));
  detail::AttendCpu p{};
  p.type = detail::cpu_type(q.scalar_type());
  p.B = q.size(0);
  p.N = q.size(1);
  p.T = q.size(2);
  p.S = k.size(2);
  p.D = q.size(3);
  p.V = v.size(3);
  p.q = q.const_data_ptr();
  p.k = k.const_data_ptr();
  p.v = v.const_data_ptr();
  p.q_strides = strides_of(q);
  p.k_strides = strides_of(k);
  p.v_strides = strides_of(v);
  at::Tensor pairs;
  if (detail::is_given(mask)) {
    const bool boolean = mask->scalar_type() == at::kBool;
    pairs = (boolean ? *mask : mask->to(statistics.dtype())).expand({p.B, p.N, p.T, p.S});
    if (boolean) p.seen = pairs.const_data_ptr<bool>();
    if (!boolean) p.added = pairs.const_data_ptr();
    for (int64_t axis = 0; axis < 4; ++axis) p.mask_strides[axis] = pairs.stride(axis);
  }
  p.scale = scale.value_or(detail::attend_default_scale(p.D));
  p.causal = causal;
  const at::Tensor output = at::empty({p.B, p.N, p.T, p.V}, q.options());
  const at::Tensor returned = at::empty(detail::attend_weights_shape(q, k, weights), statistics);
  const at::Tensor log_sum_exp = at::empty({p.B, p.N, p.T}, statistics);
  const auto which = static_cast<ops::AttendWeights>(weights);
  p.output = output.mutable_data_ptr();
  if (which == ops::AttendWeights::per_head) p.weights = returned.mutable_data_ptr();
  if (which == ops::AttendWeights::head_mean) p.mean_weights = returned.mutable_data_ptr();
  p.log_sum_exp = log_sum_exp.mutable_data_ptr();
  detail::TorchRuntime runtime;
  if (p.B > 0 && p.N > 0 && p.T > 0) GAZE_CPU_PICK(detail::attend_forward)(p, runtime);
  return {output, returned, log_sum_exp};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, CPU, library) {
  library.impl("attend", attend_cpu);
}

}  // namespace gaze
