#include "modules/ops/linear/linear.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <fmt/format.h>

#include "modules/core/check.h"
#include "modules/ops/cpu/cpu_type.h"
#include "modules/ops/cpu/torch_runtime.h"
#include "modules/ops/linear/linear_cpu_kernel.h"
#include "modules/ops/optional_tensor.h"

namespace gaze::ops {
namespace {

constexpr char kOp[] = "linear";

void check(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  check_shape(weight, "weight", {"N", "K"}, kOp);
  check_floating(weight, "weight", kOp);
  const bool fits = x.defined() && x.dim() >= 1 && x.size(-1) == weight.size(1);
  if (!fits)
    check_that(false, kOp, fmt::format("x [..., K={}]", weight.size(1)),
               x.defined() ? fmt::format("x {}", shape_text(x.sizes())) : "x undefined");
  check_like(x, "x", weight, "weight", kOp);
  if (!bias.defined()) return;
  check_shape(bias, "bias", {{"N", weight.size(0)}}, kOp);
  check_like(bias, "bias", weight, "weight", kOp);
}

bool wants_gradient(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::GradMode::is_enabled() &&
         (x.requires_grad() || weight.requires_grad() || (bias.defined() && bias.requires_grad()));
}

bool is_plain(const at::Tensor& x) {
  return x.device().is_cpu() && x.layout() == at::kStrided && !x.key_set().has(c10::DispatchKey::Python);
}

bool has_kernel(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const bool typed = weight.scalar_type() == at::kFloat || weight.scalar_type() == at::kDouble;
  const int64_t inputs = weight.size(1);
  return typed && is_plain(x) && is_plain(weight) && weight.is_contiguous() && inputs > 0 &&
         x.numel() <= kLinearRows * inputs && (!bias.defined() || bias.is_contiguous()) &&
         !wants_gradient(x, weight, bias);
}

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  check(x, weight, bias);
  if (!has_kernel(x, weight, bias)) return at::linear(x, weight, detail::given(bias));
  const at::Tensor in = x.contiguous();
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = weight.size(0);
  const at::Tensor out = at::empty(shape, weight.options());
  detail::LinearCpu p{};
  p.type = detail::cpu_type(weight.scalar_type());
  p.rows = in.numel() / weight.size(1);
  p.inputs = weight.size(1);
  p.outputs = weight.size(0);
  p.x = in.const_data_ptr();
  p.weight = weight.const_data_ptr();
  p.bias = bias.defined() ? bias.const_data_ptr() : nullptr;
  p.y = out.mutable_data_ptr();
  const detail::TorchRuntime runtime;
  if (p.rows > 0 && p.outputs > 0) GAZE_CPU_PICK(detail::linear_rows)(p, runtime);
  return out;
}

}  // namespace gaze::ops
