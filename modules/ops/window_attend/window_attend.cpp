#include "modules/ops/window_attend/window_attend.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <torch/library.h>

#include "modules/core/check.h"
#include "modules/ops/statistics.h"
#include "modules/ops/window_attend/window_attend_rooms.h"

namespace gaze {
namespace detail {
namespace {

constexpr const char* kOp = "window_attend";

// In the order of the checks: what a window may be, and that a shifted one fits into its axis.
void check_window(const WindowAxis& axis, const char* letter) {
  constexpr int64_t kMost = (int64_t{1} << 30) - 1;  // two sizes' product is an int64_t
  const auto in_range = [](int64_t x, int64_t least) { return x >= least && x <= kMost; };
  if (!in_range(axis.before, 0) || !in_range(axis.after, 0) || !in_range(axis.dilation, 1)) {
    check_that(false, kOp, fmt::format("before and after >= 0, dilation >= 1, all < 2^30 in {}", letter),
               fmt::format("before {}, after {}, dilation {}", axis.before, axis.after, axis.dilation));
  }
  if (axis.shifted && axis.length > 0 && window_size(axis) * axis.dilation > axis.length) {
    check_that(false, kOp,
               fmt::format("{} >= {}, the shifted window's {} keys x dilation {}", letter,
                           window_size(axis) * axis.dilation, window_size(axis), axis.dilation),
               fmt::format("{} {}", letter, axis.length));
  }
}

// Letters alone where `q` is null, else the sizes that q settles.
void check_map(const at::Tensor& x, const char* name, const at::Tensor* q, const char* width, bool settled,
               bool two) {
  const auto size = [&](int64_t i) { return q ? q->size(i) : -1; };
  const Dim last(width, settled && q ? q->size(-1) : -1);
  if (two) {
    check_shape(x, name, {{"B", size(0)}, {"N", size(1)}, {"H", size(2)}, {"W", size(3)}, last}, kOp);
  } else {
    check_shape(x, name, {{"B", size(0)}, {"N", size(1)}, {"T", size(2)}, last}, kOp);
  }
}

bool check_two_windows(size_t count) {
  if (count != 1 && count != 2)
    check_that(false, kOp, "1 window (of T) or 2 (of H and W)", fmt::format("{} windows", count));
  return count == 2;
}

}  // namespace

void check_window_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const WindowLists& windows, int64_t weights) {
  const bool two = check_two_windows(windows.before.size());
  const size_t count = windows.before.size();
  if (windows.after.size() != count || windows.dilation.size() != count || windows.borders.size() != count) {
    check_that(false, kOp, "before, after, dilation and borders of equal length",
               fmt::format("lengths {}, {}, {}, {}", count, windows.after.size(), windows.dilation.size(),
                           windows.borders.size()));
  }
  check_map(q, "q", nullptr, "D", false, two);
  check_floating(q, "q", kOp);
  check_that(q.size(-1) > 0, kOp, "q of width D >= 1", fmt::format("q {}", shape_text(q.sizes())));
  check_map(k, "k", &q, "D", true, two);
  check_map(v, "v", &q, "V", false, two);
  check_like(k, "k", q, "q", kOp);
  check_like(v, "v", q, "q", kOp);
  if (weights < 0 || weights > 2) {
    check_that(false, kOp, "weights 0 (none), 1 (per head) or 2 (mean over heads)",
               fmt::format("weights {}", weights));
  }
  for (const int64_t border : windows.borders)
    if (border != 0 && border != 1)
      check_that(false, kOp, "borders 0 (clipped) or 1 (shifted)", fmt::format("borders {}", border));
  const WindowAxes axes = window_axes(q, windows);
  if (two) check_window(axes.rows, "H");
  check_window(axes.columns, two ? "W" : "T");
}

WindowAxes window_axes(const at::Tensor& q, const WindowLists& windows) {
  const auto axis = [&](size_t i) {
    return WindowAxis{q.size(static_cast<int64_t>(i) + 2), windows.before[i], windows.after[i],
                      windows.dilation[i],
                      windows.borders[i] == static_cast<int64_t>(ops::WindowBorders::shifted)};
  };
  if (windows.before.size() == 2) return {axis(0), axis(1)};
  return {{1, 0, 0, 1, false}, axis(0)};
}

std::vector<int64_t> window_attend_cells(const at::Tensor& q) {
  return q.sizes().slice(0, q.dim() - 1).vec();
}

std::vector<int64_t> window_attend_weights_shape(const at::Tensor& q, const WindowLists& windows,
                                                 int64_t weights) {
  const auto which = static_cast<ops::AttendWeights>(weights);
  if (which == ops::AttendWeights::none) return {0};
  const WindowAxes axes = window_axes(q, windows);
  std::vector<int64_t> shape = window_attend_cells(q);
  if (which == ops::AttendWeights::head_mean) shape.erase(shape.begin() + 1);
  shape.push_back(window_size(axes.rows) * window_size(axes.columns));
  return shape;
}

WindowAttendForward call_window_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                       at::IntArrayRef before, at::IntArrayRef after,
                                       at::IntArrayRef dilation, at::IntArrayRef borders,
                                       std::optional<double> scale, int64_t weights) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("gaze::window_attend", "")
                             .typed<decltype(call_window_attend)>();
  return op.call(q, k, v, before, after, dilation, borders, scale, weights);
}

WindowAttendBackward call_window_attend_backward(const at::Tensor& q, const at::Tensor& k,
                                                 const at::Tensor& v,
                                                 const std::optional<at::Tensor>& grad_output,
                                                 const std::optional<at::Tensor>& grad_weights,
                                                 at::IntArrayRef before, at::IntArrayRef after,
                                                 at::IntArrayRef dilation, at::IntArrayRef borders,
                                                 std::optional<double> scale) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("gaze::window_attend_backward", "")
                             .typed<decltype(call_window_attend_backward)>();
  return op.call(q, k, v, grad_output, grad_weights, before, after, dilation, borders, scale);
}

}  // namespace detail

namespace {

detail::WindowAttendForward window_attend_meta(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                               at::IntArrayRef before, at::IntArrayRef after,
                                               at::IntArrayRef dilation, at::IntArrayRef borders,
                                               std::optional<double>, int64_t weights) {
  const detail::WindowLists windows{before, after, dilation, borders};
  detail::check_window_attend(q, k, v, windows, weights);
  const auto statistics = q.options().dtype(detail::statistics_dtype(q.scalar_type()));
  return {at::empty(v.sizes(), q.options()),
          at::empty(detail::window_attend_weights_shape(q, windows, weights), statistics),
          at::empty(detail::window_attend_cells(q), statistics)};
}

detail::WindowAttendBackward window_attend_backward_meta(const at::Tensor& q, const at::Tensor& k,
                                                         const at::Tensor& v,
                                                         const std::optional<at::Tensor>&,
                                                         const std::optional<at::Tensor>&, at::IntArrayRef,
                                                         at::IntArrayRef, at::IntArrayRef, at::IntArrayRef,
                                                         std::optional<double>) {
  return {at::empty(q.sizes(), q.options()), at::empty(k.sizes(), k.options()),
          at::empty(v.sizes(), v.options())};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(gaze, library) {
  library.def(
      "window_attend(Tensor q, Tensor k, Tensor v, int[] before, int[] after, int[] dilation, int[] borders,"
      " float? scale=None, int weights=0) -> (Tensor output, Tensor weights, Tensor log_sum_exp)");
  library.def(
      "window_attend_backward(Tensor q, Tensor k, Tensor v, Tensor? grad_output, Tensor? grad_weights,"
      " int[] before, int[] after, int[] dilation, int[] borders, float? scale)"
      " -> (Tensor grad_q, Tensor grad_k, Tensor grad_v)");
}

TORCH_LIBRARY_IMPL(gaze, Meta, library) {
  library.impl("window_attend", window_attend_meta);
  library.impl("window_attend_backward", window_attend_backward_meta);
}

namespace ops {

Window Window::neighborhood(int64_t size, int64_t dilation) {
  return {size / 2, size - 1 - size / 2, dilation, WindowBorders::shifted};
}

Window Window::local(int64_t reach, int64_t dilation) {
  return {reach, reach, dilation, WindowBorders::clipped};
}

Window Window::banded(int64_t before, int64_t after, int64_t dilation) {
  return {before, after, dilation, WindowBorders::clipped};
}

Window Window::causal(int64_t size, int64_t dilation) {
  return {size - 1, 0, dilation, WindowBorders::clipped};
}

WindowAttended window_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const WindowAttendOptions& options) {
  // The dispatcher picks a backend from q, k and v and so needs them; the rest is checked by the backend's
  // kernel.
  const bool two = detail::check_two_windows(options.windows.size());
  detail::check_map(q, "q", nullptr, "D", false, two);
  detail::check_map(k, "k", nullptr, "D", false, two);
  detail::check_map(v, "v", nullptr, "V", false, two);
  std::vector<int64_t> before, after, dilation, borders;
  for (const Window& window : options.windows) {
    before.push_back(window.before);
    after.push_back(window.after);
    dilation.push_back(window.dilation);
    borders.push_back(static_cast<int64_t>(window.borders));
  }
  auto [output, weights, log_sum_exp] = detail::call_window_attend(
      q, k, v, before, after, dilation, borders, options.scale, static_cast<int64_t>(options.weights));
  return {output, options.weights == AttendWeights::none ? at::Tensor() : weights, log_sum_exp};
}

}  // namespace ops
}  // namespace gaze
