// What the rooms of window_attend say to each other. Users want window_attend.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>
#include <vector>

#include "modules/ops/window_attend/window_attend.h"
#include "modules/ops/window_attend/window_attend_math.h"

namespace gaze::detail {

// The windows as the dispatcher has them, a number an axis; `borders` are ops::WindowBorders.
struct WindowLists {
  at::IntArrayRef before, after, dilation, borders;
};

using WindowAttendForward = std::tuple<at::Tensor, at::Tensor, at::Tensor>;   // output, weights, log_sum_exp
using WindowAttendBackward = std::tuple<at::Tensor, at::Tensor, at::Tensor>;  // of q, k, v

// Through the dispatcher; `weights` is an AttendWeights. Unrequested weights are a tensor of no elements.
// grad_weights has the shape of the weights, whichever were asked for.
WindowAttendForward call_window_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                       at::IntArrayRef before, at::IntArrayRef after,
                                       at::IntArrayRef dilation, at::IntArrayRef borders,
                                       std::optional<double> scale, int64_t weights);
WindowAttendBackward call_window_attend_backward(const at::Tensor& q, const at::Tensor& k,
                                                 const at::Tensor& v,
                                                 const std::optional<at::Tensor>& grad_output,
                                                 const std::optional<at::Tensor>& grad_weights,
                                                 at::IntArrayRef before, at::IntArrayRef after,
                                                 at::IntArrayRef dilation, at::IntArrayRef borders,
                                                 std::optional<double> scale);

// The first line of each backend's kernel. Throws ArgumentError.
void check_window_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const WindowLists& windows, int64_t weights);

// In plain ATen calls, on any device.
WindowAttendForward window_attend_composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                           at::IntArrayRef before, at::IntArrayRef after,
                                           at::IntArrayRef dilation, at::IntArrayRef borders,
                                           std::optional<double> scale, int64_t weights);
WindowAttendBackward window_attend_backward_composed(const at::Tensor& q, const at::Tensor& k,
                                                     const at::Tensor& v,
                                                     const std::optional<at::Tensor>& grad_output,
                                                     const std::optional<at::Tensor>& grad_weights,
                                                     at::IntArrayRef before, at::IntArrayRef after,
                                                     at::IntArrayRef dilation, at::IntArrayRef borders,
                                                     std::optional<double> scale);

// Rows and columns of a map; a sequence is a map of one row.
struct WindowAxes {
  WindowAxis rows, columns;
};
WindowAxes window_axes(const at::Tensor& q, const WindowLists& windows);

// q's shape without its last dimension; and that of the weights, [0] for none.
std::vector<int64_t> window_attend_cells(const at::Tensor& q);
std::vector<int64_t> window_attend_weights_shape(const at::Tensor& q, const WindowLists& windows,
                                                 int64_t weights);

}  // namespace gaze::detail
