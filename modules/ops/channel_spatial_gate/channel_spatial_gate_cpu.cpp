// channel_spatial_gate for the CPU: dense tensors in, the kernel of this machine's instruction set called.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "modules/ops/channel_spatial_gate/channel_spatial_gate_cpu_kernel.h"
#include "modules/ops/channel_spatial_gate/channel_spatial_gate_rooms.h"
#include "modules/ops/cpu/torch_runtime.h"
#include "modules/ops/spatial_gate/spatial_gate_cpu.h"
#include "modules/ops/spatial_gate/spatial_gate_rooms.h"
#include "modules/ops/squeeze_excite/squeeze_excite_cpu.h"
#include "modules/ops/squeeze_excite/squeeze_excite_rooms.h"

namespace gaze {
namespace {

detail::ChannelSpatialGateForward channel_spatial_gate_cpu(
    const at::Tensor& any_x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, bool max_pool, const at::Tensor& weight,
    const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& norm_scale,
    const std::optional<at::Tensor>& norm_shift, const std::optional<at::Tensor>& norm_mean,
    const std::optional<at::Tensor>& norm_variance, double eps, const std::optional<at::Tensor>& mix,
    const std::optional<at::Tensor>& residual, bool relu) {
  detail::check_squeeze_excite(any_x, w1, b1, w2, b2, mix, {}, false, true);
  detail::check_spatial_gate(any_x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, mix, {},
                             residual);
  detail::SqueezeExciteArguments channel(any_x, w1, b1, w2, b2, mix, max_pool);
  const at::Tensor& x = channel.x;  // dense
  const auto statistics = channel.w1.options();
  const at::Tensor channel_gate = at::empty({x.size(0), x.size(1)}, statistics);
  detail::SpatialGateArguments spatial(x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, eps,
                                       mix, channel_gate);
  const at::Tensor added = detail::is_given(residual) ? spatial.like_x(*residual) : at::Tensor();
  const at::Tensor output = at::empty(x.sizes(), x.options(), any_x.suggest_memory_format());
  const at::Tensor gate = at::empty({x.size(0), x.size(2), x.size(3)}, statistics);
  channel.p.gate = channel_gate.mutable_data_ptr();
  spatial.p.residual = added.defined() ? added.const_data_ptr() : nullptr;
  spatial.p.relu = relu;
  spatial.p.output = output.mutable_data_ptr();
  spatial.p.gate = gate.mutable_data_ptr();
  detail::ChannelSpatialGateCpu p{channel.p, spatial.p};
  detail::TorchRuntime runtime;
  GAZE_CPU_PICK(detail::channel_spatial_gate_forward)(p, runtime);
  const auto number_or_none = [&](double value) {
    return p.spatial.has_norm ? at::full({1}, value, statistics) : at::empty({0}, statistics);
  };
  return {output, channel_gate, gate, number_or_none(p.spatial.mean), number_or_none(p.spatial.variance)};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, CPU, library) {
  library.impl("channel_spatial_gate", channel_spatial_gate_cpu);
}

}  // namespace gaze
