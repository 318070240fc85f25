// The two planes of spatial_gate's CPU kernel, maximum and mean over channels, and their convolution.
// Included by sources compiled per instruction set alone, see lanes.h.
#pragma once

#include "modules/ops/cpu/lanes.h"

namespace gaze::detail {
namespace {  // NOLINT: one copy a build is the point

// One number a cell each; null where it is not wanted.
template <typename A>
struct CellSums {
  A* largest;                     // maximum of u over channels
  A* mean;                        // mean of u
  LaneIndex<A>* where = nullptr;  // the maximum's first channel
  A* product = nullptr;           // sum of u · grad

  CellSums at(int64_t offset) const {
    return {largest + offset, mean + offset, where ? where + offset : nullptr,
            product ? product + offset : nullptr};
  }
};

constexpr int64_t kCellsTogether = 4;

// Sums and maxima of u over the channels of four cells, x [4, C], into the first four of `sums` and
// `largest`: a channel's gate is read once for them, and their lanes are joined together.
template <typename T, typename A>
GAZE_LANES void squeeze_cells(const T* x, const A* channel_gate, int64_t C, A* sums, A* largest) {
  const A lowest = -A(__builtin_inff());
  Lanes<A> sum[kCellsTogether] = {}, top[kCellsTogether];
  for (int64_t k = 0; k < kCellsTogether; ++k) top[k] = all_lanes(lowest);
  for_lanes<A>(C, [&](int64_t c, auto part) {
    const Lanes<A> factor = channel_gate ? load(channel_gate + c, part) : all_lanes(A(1));
    for (int64_t k = 0; k < kCellsTogether; ++k) {
      const Lanes<A> u = load(x + k * C + c, part) * factor;
      sum[k] += u;
      top[k] = larger(top[k], outside(u, lowest, part));
    }
  });
  sums_of_lanes(sum, sums);
  largest_lanes(top, largest);
}

// x and grad [cells, C], channel_gate [C] or null: u = x · channel_gate.
template <typename T, typename A>
void squeeze_rows(const T* x, const T* grad, const A* channel_gate, int64_t cells, int64_t C,
                  const CellSums<A>& sums) {
  const A lowest = -A(__builtin_inff());
  int64_t cell = 0;
  if (!sums.where && !sums.product)
    for (; cell + kCellsTogether <= cells; cell += kCellsTogether, x += kCellsTogether * C) {
      squeeze_cells(x, channel_gate, C, sums.mean + cell, sums.largest + cell);
      for (int64_t k = 0; k < kCellsTogether; ++k) sums.mean[cell + k] /= static_cast<A>(C);
    }
  for (; cell < cells; ++cell, x += C) {
    Lanes<A> sum = {}, top = all_lanes(lowest), product = {};
    LaneIndices<A> where = {};
    for_lanes<A>(C, [&](int64_t c, auto part) {
      Lanes<A> u = load(x + c, part);
      if (channel_gate) u *= load(channel_gate + c, part);
      sum += u;
      if (sums.product) product += u * load(grad + cell * C + c, part);
      const Lanes<A> candidates = outside(u, lowest, part);
      if (sums.where) {
        keep_larger(top, where, candidates, count_lanes<A>() + all_lanes_index<A>(c));
      } else {
        top = larger(top, candidates);
      }
    });
    sums.mean[cell] = sum_of_lanes(sum) / static_cast<A>(C);
    sums.largest[cell] = largest_lane(top);
    if (sums.product) sums.product[cell] = sum_of_lanes(product);
    if (sums.where) sums.where[cell] = static_cast<LaneIndex<A>>(first_place(top, where, sums.largest[cell]));
  }
}

// x and grad [C, HW], of which `cells` from their beginning.
template <typename T, typename A>
void squeeze_planes(const T* x, const T* grad, const A* channel_gate, int64_t cells, int64_t C, int64_t HW,
                    const CellSums<A>& sums) {
  for (int64_t c = 0; c < C; ++c) {
    const Lanes<A> factor = all_lanes(channel_gate ? channel_gate[c] : A(1));
    for_lanes<A>(cells, [&](int64_t i, auto part) {
      const Lanes<A> u = load(x + c * HW + i, part) * factor;
      store(sums.mean + i, c == 0 ? u : load(sums.mean + i, part) + u, part);
      if (sums.product) {
        const Lanes<A> product = u * load(grad + c * HW + i, part);
        store(sums.product + i, c == 0 ? product : load(sums.product + i, part) + product, part);
      }
      Lanes<A> top = c == 0 ? u : load(sums.largest + i, part);
      if (sums.where) {
        LaneIndices<A> where = {};
        if (c > 0) where = load_indices(sums.where + i, part);
        keep_larger(top, where, u, all_lanes_index<A>(c));
        store_indices(sums.where + i, where, part);
      }
      store(sums.largest + i, larger(top, u), part);
    });
  }
  for_lanes<A>(cells, [&](int64_t i, auto part) {
    store(sums.mean + i, load(sums.mean + i, part) / static_cast<A>(C), part);
  });
}

// A plane [H, W] with a border of zeros as wide as the kernel reaches, and room for whole lanes at the end of
// a row. The border is written once, the inside anew for each plane.
struct Border {
  int64_t H, W, K, pitch, numbers;
  Border(int64_t H, int64_t W, int64_t K, int64_t lanes)
      : H(H), W(W), K(K), pitch((W + lanes - 1) / lanes * lanes + K - 1), numbers((H + K - 1) * pitch) {}
  int64_t inside(int64_t h) const { return (h + K / 2) * pitch + K / 2; }
};

// Rows of `plane` [H, W] to the inside of `padded`.
template <typename A>
void set_inside(const A* plane, const Border& border, int64_t first, int64_t rows, A* padded) {
  for (int64_t h = first; h < first + rows; ++h)
    for (int64_t w = 0; w < border.W; ++w) padded[border.inside(h) + w] = plane[h * border.W + w];
}

// Rows of out [H, W] = bias + sum over planes and i, j of kernel[plane, i, j] · padded[plane, h + i, w + j]
template <typename A, int64_t kPlanes>
void correlate(const A* padded, const A* kernel, A bias, const Border& border, int64_t first, int64_t rows,
               A* out) {
  const int64_t K = border.K;
  for (int64_t h = first; h < first + rows; ++h)
    for_lanes<A>(border.W, [&](int64_t w, auto part) {
      Lanes<A> sums[kPlanes] = {};
      for (int64_t i = 0; i < K; ++i) {
        const A* const row = padded + (h + i) * border.pitch + w;
        for (int64_t j = 0; j < K; ++j)
          for (int64_t plane = 0; plane < kPlanes; ++plane)
            sums[plane] += load(row + plane * border.numbers + j) * kernel[(plane * K + i) * K + j];
      }
      Lanes<A> sum = sums[0] + bias;
      for (int64_t plane = 1; plane < kPlanes; ++plane) sum += sums[plane];
      store(out + h * border.W + w, sum, part);
    });
}

// kernel_grad[i, j] = sum over h, w of grad[h, w] · padded[h + i, w + j], where grad is the inside of
// grad_padded.
template <typename A>
void correlate_kernel(const A* padded, const A* grad_padded, const Border& border, A* kernel_grad) {
  for (int64_t i = 0; i < border.K; ++i)
    for (int64_t j = 0; j < border.K; ++j) {
      Lanes<A> sum = {};
      for (int64_t h = 0; h < border.H; ++h)
        for (int64_t w = 0; w < border.W; w += kLanes<A>)
          sum += load(grad_padded + border.inside(h) + w) * load(padded + (h + i) * border.pitch + w + j);
      kernel_grad[i * border.K + j] = sum_of_lanes(sum);
    }
}

}  // namespace
}  // namespace gaze::detail
