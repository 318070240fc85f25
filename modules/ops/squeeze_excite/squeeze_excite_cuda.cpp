// squeeze_excite for CUDA: dense tensors in, the launchers called on the current stream.
#include "modules/ops/squeeze_excite/squeeze_excite_cuda.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <fmt/format.h>
#include <torch/library.h>

#include <limits>

#include "modules/core/check.h"
#include "modules/ops/cuda/torch_cuda.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/squeeze_excite/squeeze_excite_rooms.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace {

using detail::is_given;

// In the memory order of x, and aligned for 128-bit loads, which a view into other memory may not be.
at::Tensor as_map(const at::Tensor& any, at::MemoryFormat format) {
  const at::Tensor map = any.contiguous(format);
  return reinterpret_cast<uintptr_t>(map.const_data_ptr()) % 16 == 0 ? map : map.clone(format);
}

// The arguments of both directions in the form the launchers read, kept alive.
struct Arguments {
  at::MemoryFormat format;
  at::Tensor x, w1, b1, w2, b2, mix, scratch;
  detail::SqueezeExciteCuda p{};

  Arguments(const at::Tensor& any_x, const at::Tensor& any_w1, const std::optional<at::Tensor>& any_b1,
            const at::Tensor& any_w2, const std::optional<at::Tensor>& any_b2,
            const std::optional<at::Tensor>& any_mix, bool max_pool)
      : format(any_x.suggest_memory_format()),
        x(as_map(any_x, format)),
        w1(any_w1.contiguous()),
        w2(any_w2.contiguous()) {
    const int64_t cells = x.size(2) * x.size(3);
    check_that(cells <= std::numeric_limits<int>::max(), "squeeze_excite", "x with H * W < 2^31",
               fmt::format("x {}", shape_text(x.sizes())));
    p.type = detail::cuda_type(x.scalar_type());
    p.channels_last = x.is_contiguous(at::MemoryFormat::ChannelsLast) && !x.is_contiguous();
    p.B = x.size(0);
    p.C = x.size(1);
    p.HW = cells;
    p.R = w1.size(0);
    p.x = x.const_data_ptr();
    p.w1 = w1.const_data_ptr();
    p.b1 = pointer(any_b1, b1);
    p.w2 = w2.const_data_ptr();
    p.b2 = pointer(any_b2, b2);
    p.mix = pointer(any_mix, mix);
    p.max_pool = max_pool;
    p.processors = at::cuda::getDeviceProperties(x.device().index())->multiProcessorCount;
    p.stream = c10::cuda::getCurrentCUDAStream(x.device().index());
  }

  void take_scratch(bool backward) {
    scratch = at::empty({detail::squeeze_excite_cuda_scratch(p, backward)}, x.options().dtype(at::kByte));
    p.scratch = scratch.mutable_data_ptr();
  }

  // Of a dense copy kept in `kept`; null where there is none.
  static const void* pointer(const std::optional<at::Tensor>& any, at::Tensor& kept) {
    if (!is_given(any)) return nullptr;
    kept = any->contiguous();
    return kept.const_data_ptr();
  }
};

detail::SqueezeExciteForward squeeze_excite_cuda(const at::Tensor& x, const at::Tensor& w1,
                                                 const std::optional<at::Tensor>& b1, const at::Tensor& w2,
                                                 const std::optional<at::Tensor>& b2,
                                                 const std::optional<at::Tensor>& mix,
                                                 const std::optional<at::Tensor>& residual, bool max_pool,
                                                 bool relu, bool gate_only) {
  detail::check_squeeze_excite(x, w1, b1, w2, b2, mix, residual, relu, gate_only);
  const c10::cuda::CUDAGuard guard(x.device());
  const at::Tensor output =
      gate_only ? at::empty({0}, x.options()) : at::empty(x.sizes(), x.options(), x.suggest_memory_format());
  const at::Tensor gate =
      at::empty({x.size(0), x.size(1)}, x.options().dtype(detail::statistics_dtype(x.scalar_type())));
  if (x.size(0) == 0) return {output, gate};
  Arguments arguments(x, w1, b1, w2, b2, mix, max_pool);
  const at::Tensor added = is_given(residual) ? as_map(*residual, arguments.format) : at::Tensor();
  arguments.p.residual = added.defined() ? added.const_data_ptr() : nullptr;
  arguments.p.relu = relu;
  arguments.p.output = gate_only ? nullptr : output.mutable_data_ptr();
  arguments.p.gate = gate.mutable_data_ptr();
  arguments.take_scratch(false);
  C10_CUDA_CHECK(detail::squeeze_excite_cuda_forward(arguments.p));
  return {output, gate};
}

detail::SqueezeExciteBackward squeeze_excite_backward_cuda(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, const std::optional<at::Tensor>& mix,
    const std::optional<at::Tensor>& grad_output, const std::optional<at::Tensor>& grad_gate, bool max_pool) {
  const c10::cuda::CUDAGuard guard(x.device());
  const auto like = [&](const std::optional<at::Tensor>& argument) {
    return at::zeros(is_given(argument) ? argument->sizes() : at::IntArrayRef{0}, x.options());
  };
  const at::Tensor grad_x = at::empty(x.sizes(), x.options(), x.suggest_memory_format());
  const at::Tensor grad_w1 = like(w1), grad_b1 = like(b1), grad_w2 = like(w2), grad_b2 = like(b2),
                   grad_mix = like(mix);
  if (x.size(0) == 0) return {grad_x, grad_w1, grad_b1, grad_w2, grad_b2, grad_mix};
  Arguments arguments(x, w1, b1, w2, b2, mix, max_pool);
  detail::SqueezeExciteCuda& p = arguments.p;
  const at::Tensor grad = is_given(grad_output) ? as_map(*grad_output, arguments.format) : at::Tensor();
  at::Tensor of_gate;
  if (is_given(grad_gate)) of_gate = grad_gate->to(detail::statistics_dtype(x.scalar_type())).contiguous();
  p.grad_output = grad.defined() ? grad.const_data_ptr() : nullptr;
  p.grad_gate = of_gate.defined() ? of_gate.const_data_ptr() : nullptr;
  p.grad_x = grad_x.mutable_data_ptr();
  p.grad_w1 = grad_w1.mutable_data_ptr();
  p.grad_b1 = is_given(b1) ? grad_b1.mutable_data_ptr() : nullptr;
  p.grad_w2 = grad_w2.mutable_data_ptr();
  p.grad_b2 = is_given(b2) ? grad_b2.mutable_data_ptr() : nullptr;
  p.grad_mix = is_given(mix) ? grad_mix.mutable_data_ptr() : nullptr;
  arguments.take_scratch(true);
  C10_CUDA_CHECK(detail::squeeze_excite_cuda_backward(p));
  return {grad_x, grad_w1, grad_b1, grad_w2, grad_b2, grad_mix};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, CUDA, library) {
  library.impl("squeeze_excite", squeeze_excite_cuda);
  library.impl("squeeze_excite_backward", squeeze_excite_backward_cuda);
}

}  // namespace gaze
