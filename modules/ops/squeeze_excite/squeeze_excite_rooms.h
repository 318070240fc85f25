// What the rooms of squeeze_excite say to each other. Users want squeeze_excite.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace gaze::detail {

using SqueezeExciteForward = std::tuple<at::Tensor, at::Tensor>;  // output, gate
// Of x, w1, b1, w2, b2, mix; no elements where the argument was not given.
using SqueezeExciteBackward =
    std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

// Through the dispatcher. With gate_only the output has no elements.
SqueezeExciteForward call_squeeze_excite(const at::Tensor& x, const at::Tensor& w1,
                                         const std::optional<at::Tensor>& b1, const at::Tensor& w2,
                                         const std::optional<at::Tensor>& b2,
                                         const std::optional<at::Tensor>& mix,
                                         const std::optional<at::Tensor>& residual, bool max_pool, bool relu,
                                         bool gate_only);
// grad_output is that of x · gate: the Autograd room has taken it through the tail.
SqueezeExciteBackward call_squeeze_excite_backward(const at::Tensor& x, const at::Tensor& w1,
                                                   const std::optional<at::Tensor>& b1, const at::Tensor& w2,
                                                   const std::optional<at::Tensor>& b2,
                                                   const std::optional<at::Tensor>& mix,
                                                   const std::optional<at::Tensor>& grad_output,
                                                   const std::optional<at::Tensor>& grad_gate, bool max_pool);

// In plain ATen calls, on any device.
SqueezeExciteForward squeeze_excite_composed(const at::Tensor& x, const at::Tensor& w1,
                                             const std::optional<at::Tensor>& b1, const at::Tensor& w2,
                                             const std::optional<at::Tensor>& b2,
                                             const std::optional<at::Tensor>& mix,
                                             const std::optional<at::Tensor>& residual, bool max_pool,
                                             bool relu, bool gate_only);
SqueezeExciteBackward squeeze_excite_backward_composed(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, const std::optional<at::Tensor>& mix,
    const std::optional<at::Tensor>& grad_output, const std::optional<at::Tensor>& grad_gate, bool max_pool);

// The first line of each backend's kernel. Throws ArgumentError.
void check_squeeze_excite(const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1,
                          const at::Tensor& w2, const std::optional<at::Tensor>& b2,
                          const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& residual,
                          bool relu, bool gate_only);

}  // namespace gaze::detail
