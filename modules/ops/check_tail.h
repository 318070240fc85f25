// The check of a Tail's residual, for the ops that take one.
#pragma once

#include <string_view>

#include "modules/core/check.h"
#include "modules/ops/optional_tensor.h"

namespace gaze::detail {

// `residual` is absent, or has shape, dtype and device of x [B, C, H, W]. Throws ArgumentError.
inline void check_residual(const std::optional<at::Tensor>& residual, const at::Tensor& x,
                           std::string_view op) {
  if (!is_given(residual)) return;
  check_shape(*residual, "residual", {{"B", x.size(0)}, {"C", x.size(1)}, {"H", x.size(2)}, {"W", x.size(3)}},
              op);
  check_like(*residual, "residual", x, "x", op);
}

}  // namespace gaze::detail
