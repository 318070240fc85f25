// Tensors into what squeeze_excite's CPU kernel reads.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "modules/ops/cpu/cpu_type.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/squeeze_excite/squeeze_excite_cpu_kernel.h"
#include "modules/ops/statistics.h"

namespace gaze::detail {

// The arguments of both directions in the form the kernel reads, kept alive.
struct SqueezeExciteArguments {
  at::Tensor x, w1, b1, w2, b2;
  SqueezeExciteCpu p{};

  SqueezeExciteArguments(const at::Tensor& any_x, const at::Tensor& any_w1,
                         const std::optional<at::Tensor>& any_b1, const at::Tensor& any_w2,
                         const std::optional<at::Tensor>& any_b2, const std::optional<at::Tensor>& mix,
                         bool max_pool)
      : x(any_x.contiguous(any_x.suggest_memory_format())), w1(wide(any_w1)), w2(wide(any_w2)) {
    if (is_given(any_b1)) b1 = wide(*any_b1);
    if (is_given(any_b2)) b2 = wide(*any_b2);
    p.type = cpu_type(x.scalar_type());
    p.channels_last = x.is_contiguous(at::MemoryFormat::ChannelsLast) && !x.is_contiguous();
    p.B = x.size(0);
    p.C = x.size(1);
    p.HW = x.size(2) * x.size(3);
    p.R = w1.size(0);
    p.x = x.const_data_ptr();
    p.w1 = w1.const_data_ptr();
    p.b1 = b1.defined() ? b1.const_data_ptr() : nullptr;
    p.w2 = w2.const_data_ptr();
    p.b2 = b2.defined() ? b2.const_data_ptr() : nullptr;
    p.max_pool = max_pool;
    p.has_mix = is_given(mix);
    p.mix = p.has_mix ? mix->item<double>() : 1;
  }

  at::Tensor wide(const at::Tensor& any) const {
    return any.to(statistics_dtype(any.scalar_type())).contiguous();
  }
  at::Tensor like_x(const at::Tensor& any) const { return any.contiguous(x.suggest_memory_format()); }
};

}  // namespace gaze::detail
