// Rows of a map against the rows of a window, for the CPU kernels of window_attend: dot products, a softmax,
// weighted sums. Included by sources compiled per instruction set alone, see lanes.h.
#pragma once

#include <type_traits>
#include <utility>

#include "modules/ops/cpu/lanes.h"
#include "modules/ops/cpu/lanes_exp.h"
#include "modules/ops/window_attend/window_attend_cpu_kernel.h"

namespace gaze::detail {
namespace {  // NOLINT: one copy a build is the point

constexpr int64_t kRowsAtOnce = 4;  // of dot products

GAZE_LANES int64_t whole_steps(int64_t count, int64_t step) {
  return (count + step - 1) / step * step;
}

// A tensor [B, N, H, W, width] in the type it is computed in; behind a row's width there are zeros up to
// whole lanes.
template <typename A>
struct Rows {
  const A* data = nullptr;
  int64_t b, n, h, w;  // strides
  int64_t width;       // in whole lanes

  const A* at(int64_t of_b, int64_t of_n, int64_t y, int64_t x) const {
    return data + of_b * b + of_n * n + y * h + x * w;
  }
};

// As it is where it is of that form, else copied.
template <typename T, typename A>
Rows<A> whole_rows(const MapRows& from, const WindowAttendCpu& p, int64_t width, CpuRuntime& run) {
  const int64_t whole = whole_steps(width, kLanes<A>), H = p.rows.length, W = p.columns.length;
  if (!from.data) return {};
  if constexpr (std::is_same_v<T, A>)
    if (whole == width) return {static_cast<const A*>(from.data), from.b, from.n, from.h, from.w, width};
  A* const copy = run.scratch<A>(p.B * p.N * H * W * whole);
  run.parallel(p.B * p.N * H, [&](int64_t row) {
    const int64_t y = row % H, n = row / H % p.N, b = row / H / p.N;
    for (int64_t x = 0; x < W; ++x) {
      const T* const in =
          static_cast<const T*>(from.data) + b * from.b + n * from.n + y * from.h + x * from.w;
      A* const out = copy + (row * W + x) * whole;
      for_lanes<A>(width, [&](int64_t d, auto part) { store(out + d, load(in + d, part)); });
    }
  });
  return {copy, p.N * H * W * whole, H * W * whole, W * whole, whole, whole};
}

// Where the rows of a rectangle of a map lie, from its first, in its order; the last again up to whole steps
// of kRowsAtOnce.
struct Rectangle {
  int64_t* offsets;
  int64_t height = -1, width = -1;

  template <typename A>
  void shape(const Rows<A>& rows, const WindowSpan& ys, const WindowSpan& xs, const WindowAttendCpu& p) {
    if (ys.count == height && xs.count == width) return;
    height = ys.count;
    width = xs.count;
    int64_t i = 0;
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        offsets[i++] = y * p.rows.dilation * rows.h + x * p.columns.dilation * rows.w;
    for (; i % kRowsAtOnce != 0; ++i) offsets[i] = offsets[i - 1];
  }
};

// Lane l holds a[l] + a[l ^ h] where bit h of l is clear, else the same of b.
template <int64_t h, typename V, int64_t... l>
GAZE_LANES V fold_pair(V a, V b, std::integer_sequence<int64_t, l...>) {
  constexpr int64_t n = sizeof...(l);
  return __builtin_shufflevector(a, b, ((l & h) != 0 ? n + l : l)...) +
         __builtin_shufflevector(a, b, ((l & h) != 0 ? n + l - h : l + h)...);
}

// From vectors that are folded by all bits below `least` one that is folded by all bits up to h.
template <int64_t h, int64_t least, typename V>
GAZE_LANES V fold_all(const V* vectors) {
  if constexpr (h < least) {
    return vectors[0];
  } else {
    return fold_pair<h>(fold_all<h / 2, least>(vectors), fold_all<h / 2, least>(vectors + h / least),
                        std::make_integer_sequence<int64_t, sizeof(V) / sizeof((*vectors)[0])>());
  }
}

// out[i] = x · row i for i < count; what is behind, up to whole lanes, is finite where the rows are. kParts
// is the width in lanes where the compiler may know it, else 0.
template <int64_t kParts, typename A>
GAZE_LANES void dot_rows_of(const A* x, const A* first, const int64_t* offsets, int64_t count,
                            int64_t any_width, A* out) {
  constexpr int64_t kSteps = kLanes<A> / kRowsAtOnce;
  const int64_t width = kParts > 0 ? kParts * kLanes<A> : any_width;
  for (int64_t begin = 0; begin < count; begin += kLanes<A>) {
    Lanes<A> folded[kSteps] = {};
    for (int64_t step = 0; step < kSteps; ++step) {
      const int64_t i = begin + step * kRowsAtOnce;
      if (i >= count) break;
      const A *const row0 = first + offsets[i], *const row1 = first + offsets[i + 1],
                     *const row2 = first + offsets[i + 2], *const row3 = first + offsets[i + 3];
      Lanes<A> sums[kRowsAtOnce] = {};
#pragma GCC unroll 4
      for (int64_t d = 0; d < width; d += kLanes<A>) {
        const Lanes<A> part = load(x + d);
        sums[0] += part * load(row0 + d);
        sums[1] += part * load(row1 + d);
        sums[2] += part * load(row2 + d);
        sums[3] += part * load(row3 + d);
      }
      folded[step] = fold_all<kRowsAtOnce / 2, 1>(sums);
    }
    store(out + begin, fold_all<kLanes<A> / 2, kRowsAtOnce>(folded));
  }
}

template <typename A>
GAZE_LANES void dot_rows(const A* x, const A* first, const int64_t* offsets, int64_t count, int64_t width,
                         A* out) {
  if (width == 2 * kLanes<A>) return dot_rows_of<2>(x, first, offsets, count, width, out);
  if (width == 4 * kLanes<A>) return dot_rows_of<4>(x, first, offsets, count, width, out);
  dot_rows_of<0>(x, first, offsets, count, width, out);
}

#if defined(__AVX512F__)
constexpr int64_t kChains = 2;  // of additions, to hide their latency where there are registers for them
#else
constexpr int64_t kChains = 1;
#endif

// put(d, lanes) of Σ weights[i] · row i for kParts lanes from d on.
template <int64_t kParts, typename A, typename Put>
GAZE_LANES void sum_rows(int64_t d, const A* weights, const A* first, const int64_t* offsets, int64_t count,
                         const Put& put) {
  Lanes<A> sums[kChains][kParts] = {};
  int64_t i = 0;
  for (; i + kChains <= count; i += kChains)
    for (int64_t chain = 0; chain < kChains; ++chain) {
      const A* const row = first + offsets[i + chain] + d;
      for (int64_t part = 0; part < kParts; ++part)
        sums[chain][part] += load(row + part * kLanes<A>) * weights[i + chain];
    }
  for (; i < count; ++i) {
    const A* const row = first + offsets[i] + d;
    for (int64_t part = 0; part < kParts; ++part) sums[0][part] += load(row + part * kLanes<A>) * weights[i];
  }
  for (int64_t chain = 1; chain < kChains; ++chain)
    for (int64_t part = 0; part < kParts; ++part) sums[0][part] += sums[chain][part];
  for (int64_t part = 0; part < kParts; ++part) put(d + part * kLanes<A>, sums[0][part]);
}

// out[d] = Σ weights[i] · row i, for d < length; the rows have `width` numbers.
template <typename T, typename A>
GAZE_LANES void write_sum(const A* weights, const A* first, const int64_t* offsets, int64_t count,
                          int64_t width, T* out, int64_t length) {
  const auto put = [&](int64_t at, Lanes<A> sum) __attribute__((always_inline)) {
    if (at + kLanes<A> <= length) {
      store(out + at, sum);
    } else {
      store(out + at, sum, Part{length - at});
    }
  };
  int64_t d = 0;
  for (; d + 4 * kLanes<A> <= width; d += 4 * kLanes<A>) sum_rows<4>(d, weights, first, offsets, count, put);
  if (d + 2 * kLanes<A> <= width) {
    sum_rows<2>(d, weights, first, offsets, count, put);
    d += 2 * kLanes<A>;
  }
  if (d < width) sum_rows<1>(d, weights, first, offsets, count, put);
}

// A softmax is exp(score - top) · share.
template <typename A>
struct Softmax {
  A top, share, log_sum_exp;
};

// Unscaled scores to weights, in place; zeros up to whole lanes behind them.
template <typename A>
GAZE_LANES Softmax<A> softmax_of(A* scores, int64_t count, A scale) {
  constexpr A kNever = -A(__builtin_inff());
  const int64_t whole = whole_steps(count, kLanes<A>);
  for (int64_t i = count; i < whole; ++i) scores[i] = 0;
  Lanes<A> tops = all_lanes(kNever);
  for (int64_t i = 0; i < whole; i += kLanes<A>) {
    const Lanes<A> scaled = load(scores + i) * scale;
    store(scores + i, scaled);
    if (i + kLanes<A> <= count) tops = larger(tops, scaled);
  }
  for (int64_t i = count; i < whole; ++i) scores[i] = kNever;
  if (whole > count) tops = larger(tops, load(scores + whole - kLanes<A>));
  Softmax<A> result{largest_lane(tops), 1, 0};
  if (result.top == kNever) result.top = 0;  // so that exp(-inf - top) is 0
  Lanes<A> sums = {};
  for (int64_t i = 0; i < whole; i += kLanes<A>) {
    const Lanes<A> power = exp_of_negative(load(scores + i) - result.top);
    store(scores + i, power);
    sums += power;
  }
  const A sum = sum_of_lanes(sums);
  if (sum != A(0)) result.share = A(1) / sum;
  for (int64_t i = 0; i < whole; i += kLanes<A>) store(scores + i, load(scores + i) * result.share);
  result.log_sum_exp = static_cast<A>(::log(static_cast<double>(sum)) + static_cast<double>(result.top));
  return result;
}

// What each query of an axis sees, or what sees each key, and the most of them.
struct Spans {
  WindowSpan* at;
  int64_t most = 0;

  template <typename Find>
  Spans(const WindowAxis& axis, CpuRuntime& run, const Find& find)
      : at(run.scratch<WindowSpan>(axis.length)) {
    for (int64_t x = 0; x < axis.length; ++x) {
      at[x] = find(axis, x);
      if (at[x].count > most) most = at[x].count;
    }
  }
};

// Tasks of one row of a map, or a piece of it; the pieces do not depend on the number of threads.
constexpr int64_t kPiece = 64;
constexpr int64_t kSlots = 64;  // buffers, whatever the number of threads

}  // namespace
}  // namespace gaze::detail
