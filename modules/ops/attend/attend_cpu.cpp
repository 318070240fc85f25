// attend for the CPU: rows in, the kernels of this machine's instruction set called.
#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
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

using detail::AttendAsked;
using detail::AttendInputs;
using detail::AttendRules;
using detail::is_given;

at::Tensor with_dense_rows(const at::Tensor& x) {
  return x.stride(3) == 1 || x.size(3) == 1 ? x : x.contiguous();
}

detail::RowStrides strides_of(const at::Tensor& x) {
  return {x.stride(0), x.stride(1), x.stride(2)};
}

// The kernels' arguments, and the tensors they point into.
struct CpuCall {
  detail::AttendCpu p{};
  at::Tensor q, k, v, mask, bias, key_mask, relative, row_bias, column_bias;
  std::vector<int64_t> row_places;
  at::TensorOptions statistics;

  CpuCall(const AttendInputs& in, const AttendRules& rules, const AttendAsked& asked)
      : q(with_dense_rows(in.q)), k(with_dense_rows(in.k)), v(with_dense_rows(in.v)) {
    statistics = q.options().dtype(detail::statistics_dtype(q.scalar_type()));
    p.type = detail::cpu_type(q.scalar_type());
    p.B = q.size(0);
    p.N = q.size(1);
    p.T = q.size(2);
    p.S = k.size(2);
    p.D = q.size(3);
    p.V = v.size(3);
    p.q = detail::place_of(q);
    p.k = detail::place_of(k);
    p.v = detail::place_of(v);
    p.q_strides = strides_of(q);
    p.k_strides = strides_of(k);
    p.v_strides = strides_of(v);
    take_masks(in);
    take_biases(in);
    p.scale = rules.scale_for(p.D);
    p.causal = rules.causal;
    p.relative_inside = rules.relative_inside;
    p.dropout = rules.dropout;
    p.seed = rules.seed;
    if (asked.weights == ops::AttendWeights::rows) {
      row_places = detail::attend_row_places(asked, p.T);
      p.row_places = row_places.data();
      p.R = static_cast<int64_t>(asked.rows.size());
    }
  }

  bool has_work() const { return p.B > 0 && p.N > 0 && p.T > 0; }

  // What a kernel leaves out where it is causal is zero.
  at::Tensor pairs(at::IntArrayRef shape) const {
    return p.causal ? at::zeros(shape, statistics) : at::empty(shape, statistics);
  }

 private:
  void take_masks(const AttendInputs& in) {
    if (is_given(in.mask)) {
      mask = in.mask->expand({p.B, p.N, p.T, p.S});
      p.mask = mask.const_data_ptr<bool>();
      for (int64_t axis = 0; axis < 4; ++axis) p.mask_strides[axis] = mask.stride(axis);
    }
    if (is_given(in.key_mask)) {
      key_mask = *in.key_mask;
      p.key_mask = key_mask.const_data_ptr<bool>();
      for (int64_t axis = 0; axis < 2; ++axis) p.key_mask_strides[axis] = key_mask.stride(axis);
    }
  }

  void take_biases(const AttendInputs& in) {
    if (is_given(in.bias)) {
      bias = in.bias->to(statistics.dtype()).expand({p.B, p.N, p.T, p.S});
      p.bias = bias.const_data_ptr();
      for (int64_t axis = 0; axis < 4; ++axis) p.bias_strides[axis] = bias.stride(axis);
    }
    if (is_given(in.relative)) {
      relative = in.relative->to(statistics.dtype()).contiguous();
      p.relative = relative.const_data_ptr();
      p.relative_entries = relative.size(1);
      p.relative_head = relative.size(0) == 1 ? 0 : relative.size(1);
    }
    if (!is_given(in.row_bias)) return;
    const auto part = [&](const at::Tensor& x, const void*& at, detail::RowStrides& strides) {
      const at::Tensor rows = with_dense_rows(x.to(statistics.dtype())).expand({p.B, p.N, p.T, x.size(3)});
      at = rows.const_data_ptr();
      strides = strides_of(rows);
      return rows;
    };
    row_bias = part(*in.row_bias, p.row_bias, p.row_bias_strides);
    column_bias = part(*in.column_bias, p.column_bias, p.column_bias_strides);
    p.grid_rows = row_bias.size(3);
    p.grid_columns = column_bias.size(3);
  }
};

detail::AttendForward attend_cpu(const AttendInputs& in, const AttendRules& rules, const AttendAsked& asked) {
  detail::check_attend(in, rules, asked);
  const CpuCall call(in, rules, asked);
  const auto& p = call.p;
  const at::Tensor none = at::empty({0}, call.statistics);
  const at::Tensor output = at::empty({p.B, p.N, p.T, p.V}, call.q.options()),
                   log_sum_exp = at::empty({p.B, p.N, p.T}, call.statistics),
                   weights = call.pairs(detail::attend_weights_shape(in, asked)),
                   key_sums = asked.key_sums ? at::zeros({p.B, p.N, p.S}, call.statistics) : none,
                   entropy = asked.entropy ? at::empty({p.B, p.N, p.T}, call.statistics) : none;
  detail::AttendCpuForward out{};
  out.output = output.mutable_data_ptr();
  out.log_sum_exp = log_sum_exp.mutable_data_ptr();
  if (asked.weights == ops::AttendWeights::head_mean) {
    out.mean_weights = weights.mutable_data_ptr();
  } else if (asked.weights != ops::AttendWeights::none) {
    out.weights = weights.mutable_data_ptr();
  }
  if (asked.key_sums) out.key_sums = key_sums.mutable_data_ptr();
  if (asked.entropy) out.entropy = entropy.mutable_data_ptr();
  detail::TorchRuntime runtime;
  if (call.has_work()) GAZE_CPU_PICK(detail::attend_forward)(p, out, runtime);
  return {output, log_sum_exp, weights, key_sums, entropy};
}

detail::AttendBackward attend_backward_cpu(const AttendInputs& in, const AttendRules& rules,
                                           const AttendAsked& asked, const at::Tensor& any_log_sum_exp,
                                           const detail::AttendGrads& grads,
                                           const detail::AttendWanted& wanted) {
  const CpuCall call(in, rules, asked);
  const auto& p = call.p;
  const auto dense = [](const detail::MaybeTensor& x, at::ScalarType dtype) {
    return is_given(x) ? x->to(dtype).contiguous() : at::Tensor();
  };
  const auto place = [](const at::Tensor& x) { return x.defined() ? x.const_data_ptr() : nullptr; };
  const at::ScalarType type = call.q.scalar_type(), wide = detail::statistics_dtype(type);
  const at::Tensor log_sum_exp = any_log_sum_exp.contiguous(), output = dense(grads.output, type),
                   of_sums = dense(grads.log_sum_exp, wide), weights = dense(grads.weights, wide),
                   key_sums = dense(grads.key_sums, wide), entropy = dense(grads.entropy, wide);
  detail::AttendCpuBackward g{};
  g.log_sum_exp = log_sum_exp.const_data_ptr();
  g.output = place(output);
  g.of_sums = place(of_sums);
  (asked.weights == ops::AttendWeights::head_mean ? g.mean_weights : g.weights) = place(weights);
  g.key_sums = place(key_sums);
  g.entropy = place(entropy);

  const auto options = call.q.options();
  const at::Tensor grad_q = at::empty({p.B, p.N, p.T, p.D}, options),
                   grad_k = at::zeros({p.B, p.N, p.S, p.D}, options),
                   grad_v = at::zeros({p.B, p.N, p.S, p.V}, options);
  g.grad_q = grad_q.mutable_data_ptr();
  g.grad_k = grad_k.mutable_data_ptr();
  g.grad_v = grad_v.mutable_data_ptr();
  const auto want = [&](bool wants, auto shape, void*& at) {
    if (!wants) return at::empty({0}, options);
    const at::Tensor grad = at::zeros(shape(), call.statistics);
    at = grad.mutable_data_ptr();
    return grad;
  };
  using Shape = std::vector<int64_t>;
  at::Tensor grad_bias = want(
      wanted.bias,
      [&] {
        return Shape{p.B, p.N, p.T, p.S};
      },
      g.grad_bias);
  at::Tensor grad_relative = want(
      wanted.relative, [&] { return in.relative->sizes().vec(); }, g.grad_relative);
  at::Tensor grad_row_bias = want(
      wanted.row_bias,
      [&] {
        return Shape{p.B, p.N, p.T, p.grid_rows};
      },
      g.grad_row_bias);
  at::Tensor grad_column_bias = want(
      wanted.column_bias,
      [&] {
        return Shape{p.B, p.N, p.T, p.grid_columns};
      },
      g.grad_column_bias);
  detail::TorchRuntime runtime;
  if (call.has_work()) GAZE_CPU_PICK(detail::attend_backward)(p, g, runtime);

  const auto like = [](bool wants, const at::Tensor& grad, const detail::MaybeTensor& x) {
    return wants ? at::sum_to(grad, x->sizes()).to(x->scalar_type()) : grad;
  };
  return {grad_q,
          grad_k,
          grad_v,
          like(wanted.bias, grad_bias, in.bias),
          like(wanted.relative, grad_relative, in.relative),
          like(wanted.row_bias, grad_row_bias, in.row_bias),
          like(wanted.column_bias, grad_column_bias, in.column_bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, CPU, library) {
  library.impl("attend", detail::attend_flat<attend_cpu>);
  library.impl("attend_backward", detail::attend_backward_flat<attend_backward_cpu>);
}

}  // namespace gaze
