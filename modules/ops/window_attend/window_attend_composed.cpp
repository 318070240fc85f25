// window_attend in plain ATen calls: keys are gathered for each query, and queries for each key, so memory is
// proportional to the window. Runs on every device that has no kernel of its own, and is what an exporter
// sees. Nothing is scattered: deterministic everywhere.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <limits>

#include "modules/ops/attend/attend_math.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/statistics.h"
#include "modules/ops/window_attend/window_attend_rooms.h"

namespace gaze {
namespace {

using detail::WindowAxes;
using detail::WindowAxis;
using detail::WindowLists;
using detail::WindowSpan;

// Which cells a cell is paired with: `cells` [T, P] their places in the map, `exist` [T, P] whether there is
// one (the cell itself stands in where not), `slots` [T, P] the key's slot in the query's window.
struct Pairs {
  at::Tensor cells, exist, slots;

  int64_t count() const { return cells.size(1); }

  // x [B, N, T, D] -> [B, N, T, P, D]
  at::Tensor gather(const at::Tensor& x) const {
    return x.index_select(2, cells.flatten()).view({x.size(0), x.size(1), x.size(2), count(), x.size(3)});
  }
};

// Of each cell with what span(axis, position) finds, as many as `rows` x `columns`; put(cell, other, slot,
// place) settles each.
template <typename Find, typename Place>
Pairs pairs_of(const WindowAxes& axes, int64_t count, const Find& find, const Place& place,
               at::Device device) {
  const int64_t H = axes.rows.length, W = axes.columns.length, T = H * W;
  Pairs pairs{at::empty({T, count}, at::kLong), at::zeros({T, count}, at::kBool),
              at::zeros({T, count}, at::kLong)};
  auto* const cells = pairs.cells.data_ptr<int64_t>();
  auto* const slots = pairs.slots.data_ptr<int64_t>();
  bool* const exist = pairs.exist.data_ptr<bool>();
  for (int64_t t = 0; t < T; ++t) {
    std::fill_n(cells + t * count, count, t);
    const WindowSpan ys = find(axes.rows, t / W), xs = find(axes.columns, t % W);
    for (int64_t i = 0; i < ys.count; ++i)
      for (int64_t j = 0; j < xs.count; ++j) {
        const int64_t y = ys.first + i * axes.rows.dilation, x = xs.first + j * axes.columns.dilation;
        const auto [at, slot] = place(t / W, t % W, y, x, i * xs.count + j);
        cells[t * count + at] = y * W + x;
        slots[t * count + at] = slot;
        exist[t * count + at] = true;
      }
  }
  return {pairs.cells.to(device), pairs.exist.to(device), pairs.slots.to(device)};
}

int64_t slot_of(const WindowAxes& axes, int64_t query_y, int64_t query_x, int64_t key_y, int64_t key_x) {
  return window_slot(axes.rows, query_y, key_y) * window_size(axes.columns) +
         window_slot(axes.columns, query_x, key_x);
}

// The keys of each query, in the slots of its window.
Pairs keys_of(const WindowAxes& axes, at::Device device) {
  return pairs_of(
      axes, window_size(axes.rows) * window_size(axes.columns), detail::window_seen,
      [&](int64_t y, int64_t x, int64_t key_y, int64_t key_x, int64_t) {
        const int64_t slot = slot_of(axes, y, x, key_y, key_x);
        return std::pair(slot, slot);
      },
      device);
}

// The queries that see each key.
Pairs queries_of(const WindowAxes& axes, at::Device device) {
  const auto most = [](const WindowAxis& axis) {
    int64_t count = 1;
    for (int64_t x = 0; x < axis.length; ++x) count = std::max(count, window_seeing(axis, x).count);
    return count;
  };
  return pairs_of(
      axes, most(axes.rows) * most(axes.columns), detail::window_seeing,
      [&](int64_t y, int64_t x, int64_t query_y, int64_t query_x, int64_t place) {
        return std::pair(place, slot_of(axes, query_y, query_x, y, x));
      },
      device);
}

// [B, N, T, D] or [B, N, H, W, D] -> [B, N, T, D] in the statistics dtype
at::Tensor flat(const at::Tensor& x) {
  const int64_t T = x.dim() == 5 ? x.size(2) * x.size(3) : x.size(2);
  return x.to(detail::statistics_dtype(x.scalar_type())).reshape({x.size(0), x.size(1), T, x.size(-1)});
}

// q [B, N, T, D] · its keys [B, N, T, P, D] -> [B, N, T, P], -inf where there is no key
at::Tensor scores_of(const at::Tensor& q, const at::Tensor& keys, const Pairs& pairs, double scale) {
  return at::matmul(keys, q.unsqueeze(4))
      .squeeze(4)
      .mul_(scale)
      .masked_fill_(pairs.exist.logical_not(), -std::numeric_limits<double>::infinity());
}

// weights [B, N, T, P] · rows [B, N, T, P, D] -> [B, N, T, D]
at::Tensor sum_of(const at::Tensor& weights, const at::Tensor& rows) {
  return at::matmul(weights.unsqueeze(3), rows).squeeze(3);
}

}  // namespace

namespace detail {

WindowAttendForward window_attend_composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                           at::IntArrayRef before, at::IntArrayRef after,
                                           at::IntArrayRef dilation, at::IntArrayRef borders,
                                           std::optional<double> scale, int64_t weights) {
  const WindowLists windows{before, after, dilation, borders};
  check_window_attend(q, k, v, windows, weights);
  const Pairs keys = keys_of(window_axes(q, windows), q.device());
  const double factor = scale.value_or(attend_default_scale(q.size(-1)));
  const at::Tensor scores = scores_of(flat(q), keys.gather(flat(k)), keys, factor);  // [B, N, T, P]
  const at::Tensor probabilities = scores.softmax(3);                                // [B, N, T, P]
  const at::Tensor output = sum_of(probabilities, keys.gather(flat(v)));             // [B, N, T, V]
  const auto which = static_cast<ops::AttendWeights>(weights);
  at::Tensor returned = at::empty({0}, probabilities.options());
  if (which == ops::AttendWeights::per_head) returned = probabilities;
  if (which == ops::AttendWeights::head_mean) returned = probabilities.mean(1);
  return {output.to(q.scalar_type()).view(v.sizes()),
          returned.view(window_attend_weights_shape(q, windows, weights)),
          scores.logsumexp(3).view(window_attend_cells(q))};
}

// As window_attend_cpu_backward_kernel.cpp has it.
WindowAttendBackward window_attend_backward_composed(const at::Tensor& q, const at::Tensor& k,
                                                     const at::Tensor& v,
                                                     const std::optional<at::Tensor>& grad_output,
                                                     const std::optional<at::Tensor>& grad_weights,
                                                     at::IntArrayRef before, at::IntArrayRef after,
                                                     at::IntArrayRef dilation, at::IntArrayRef borders,
                                                     std::optional<double> scale) {
  const WindowAxes axes = window_axes(q, {before, after, dilation, borders});
  const Pairs keys = keys_of(axes, q.device()), queries = queries_of(axes, q.device());
  const double factor = scale.value_or(attend_default_scale(q.size(-1)));
  const at::Tensor wide_q = flat(q), wide_v = flat(v);
  const at::Tensor gathered_k = keys.gather(flat(k));                                       // [B, N, T, P, D]
  const at::Tensor probabilities = scores_of(wide_q, gathered_k, keys, factor).softmax(3);  // [B, N, T, P]
  const int64_t B = q.size(0), N = q.size(1), T = wide_q.size(2), P = keys.count();
  at::Tensor grad = at::zeros_like(probabilities);  // [B, N, T, P], of the weights
  const at::Tensor wide_grad = is_given(grad_output) ? flat(*grad_output) : at::Tensor();
  if (wide_grad.defined()) grad = at::matmul(keys.gather(wide_v), wide_grad.unsqueeze(4)).squeeze(4);
  if (is_given(grad_weights)) {
    const at::Tensor wide = grad_weights->to(grad.scalar_type());
    const bool of_mean = grad_weights->dim() == q.dim() - 1;  // each head has an equal share
    grad =
        grad + (of_mean ? wide.reshape({B, 1, T, P}) / static_cast<double>(N) : wide.reshape({B, N, T, P}));
  }
  const at::Tensor mean = (grad * probabilities).sum(3, true);                     // [B, N, T, 1]
  const at::Tensor grad_scores = grad.sub(mean).mul_(probabilities).mul_(factor);  // [B, N, T, P]

  // x [B, N, T, P] at (query, slot) of each key's queries -> [B, N, T, that many]
  const at::Tensor places = (queries.cells * P + queries.slots).flatten();
  const auto of_queries = [&](const at::Tensor& x) {
    return x.reshape({B, N, T * P})
        .index_select(2, places)
        .view({B, N, T, queries.count()})
        .masked_fill_(queries.exist.logical_not(), 0);
  };
  const at::Tensor grad_v = wide_grad.defined() ? sum_of(of_queries(probabilities), queries.gather(wide_grad))
                                                : at::zeros_like(wide_v);
  return {sum_of(grad_scores, gathered_k).to(q.scalar_type()).view(q.sizes()),
          sum_of(of_queries(grad_scores), queries.gather(wide_q)).to(k.scalar_type()).view(k.sizes()),
          grad_v.to(v.scalar_type()).view(v.sizes())};
}

}  // namespace detail

TORCH_LIBRARY_IMPL(gaze, CompositeExplicitAutograd, library) {
  library.impl("window_attend", detail::window_attend_composed);
  library.impl("window_attend_backward", detail::window_attend_backward_composed);
}

}  // namespace gaze
