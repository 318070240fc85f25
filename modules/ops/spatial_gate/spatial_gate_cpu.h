// Tensors into what spatial_gate's CPU kernel reads.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "modules/ops/cpu/cpu_type.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/spatial_gate/spatial_gate_cpu_kernel.h"
#include "modules/ops/statistics.h"

namespace gaze::detail {

// The arguments of both directions in the form the kernel reads, kept alive.
struct SpatialGateArguments {
  at::Tensor x, weight, channel_gate;
  SpatialGateCpu p{};

  SpatialGateArguments(const at::Tensor& any_x, const at::Tensor& any_weight,
                       const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& norm_scale,
                       const std::optional<at::Tensor>& norm_shift,
                       const std::optional<at::Tensor>& norm_mean,
                       const std::optional<at::Tensor>& norm_variance, double eps,
                       const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& any_gate)
      : x(any_x.contiguous(any_x.suggest_memory_format())), weight(wide(any_weight)) {
    if (is_given(any_gate)) channel_gate = any_gate->contiguous();
    p.type = cpu_type(x.scalar_type());
    p.channels_last = x.is_contiguous(at::MemoryFormat::ChannelsLast) && !x.is_contiguous();
    p.B = x.size(0);
    p.C = x.size(1);
    p.H = x.size(2);
    p.W = x.size(3);
    p.K = weight.size(2);
    p.x = x.const_data_ptr();
    p.weight = weight.const_data_ptr();
    p.channel_gate = channel_gate.defined() ? channel_gate.const_data_ptr() : nullptr;
    p.bias = number(bias, 0);
    p.has_norm = is_given(norm_scale);
    p.fixed_statistics = is_given(norm_mean);
    p.scale = number(norm_scale, 1);
    p.shift = number(norm_shift, 0);
    p.mean = number(norm_mean, 0);
    p.variance = number(norm_variance, 1);
    p.eps = eps;
    p.has_mix = is_given(mix);
    p.mix = number(mix, 1);
  }

  at::Tensor wide(const at::Tensor& any) const {
    return any.to(statistics_dtype(any.scalar_type())).contiguous();
  }
  at::Tensor like_x(const at::Tensor& any) const { return any.contiguous(x.suggest_memory_format()); }
  static double number(const std::optional<at::Tensor>& x, double otherwise) {
    return is_given(x) ? x->item<double>() : otherwise;
  }
};

}  // namespace gaze::detail
