// Products of small matrices for linear_attend on the CPU, all in memory of whole lanes and of rows in whole
// tiles. Included by sources compiled per instruction set alone, see lanes.h.
#pragma once

#include "modules/ops/cpu/lanes.h"

namespace gaze::detail {
namespace {  // NOLINT: one copy a build is the point

constexpr int64_t kTileRows = 4;

// The least multiple of A's lanes, and so of kTileRows, that holds `count`.
template <typename A>
GAZE_LANES int64_t whole_lanes(int64_t count) {
  return (count + kLanes<A> - 1) / kLanes<A> * kLanes<A>;
}

// A matrix, or its transpose: x(i, j) = data[i · row + j · step].
template <typename A>
struct Left {
  const A* data;
  int64_t row, step;
  A at(int64_t i, int64_t j) const { return data[i * row + j * step]; }
};

enum class Triangle {
  none,
  of_left,    // x(i, j) counts for j <= i alone
  of_result,  // only out[i, c] with c <= i is wanted
};

// out[i + r, c] += Σ_j x(i + r, j) · right[j, c] for a tile of rows r and kWidth lanes of columns.
template <Triangle kTriangle, int64_t kWidth, typename A>
GAZE_LANES void add_tile(const Left<A>& x, int64_t i, int64_t depth, const A* right, A* out, int64_t pitch) {
  Lanes<A> sums[kTileRows][kWidth] = {};
  const int64_t common = kTriangle == Triangle::of_left ? i + 1 : depth;
  for (int64_t j = 0; j < common; ++j)
    for (int64_t w = 0; w < kWidth; ++w) {
      const Lanes<A> columns = load(right + j * pitch + w * kLanes<A>);
      for (int64_t r = 0; r < kTileRows; ++r) sums[r][w] += columns * x.at(i + r, j);
    }
  for (int64_t r = 1; kTriangle == Triangle::of_left && r < kTileRows; ++r)
    for (int64_t j = common; j <= i + r; ++j)
      for (int64_t w = 0; w < kWidth; ++w)
        sums[r][w] += load(right + j * pitch + w * kLanes<A>) * x.at(i + r, j);
  for (int64_t r = 0; r < kTileRows; ++r)
    for (int64_t w = 0; w < kWidth; ++w) {
      A* const to = out + (i + r) * pitch + w * kLanes<A>;
      store(to, load(to) + sums[r][w]);
    }
}

// out [rows, pitch] += x [rows, depth] · right [depth, pitch], from the tile that holds row `first` on.
template <Triangle kTriangle, typename A>
void add_product(const Left<A>& x, int64_t first, int64_t rows, int64_t depth, const A* right, A* out,
                 int64_t pitch) {
  constexpr int64_t kPair = 2 * kLanes<A>;
  for (int64_t c = 0; c < pitch; c += kPair)
    for (int64_t i = first / kTileRows * kTileRows; i < rows; i += kTileRows) {
      if (kTriangle == Triangle::of_result && c >= i + kTileRows) continue;
      if (c + kPair <= pitch) {
        add_tile<kTriangle, 2>(x, i, depth, right + c, out + c, pitch);
      } else {
        add_tile<kTriangle, 1>(x, i, depth, right + c, out + c, pitch);
      }
    }
}

// to [columns, to_pitch] = the transpose of from [rows, columns]
template <typename A>
void turn(const A* from, int64_t rows, int64_t columns, A* to, int64_t to_pitch) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[c * to_pitch + r] = from[r * columns + c];
}

template <typename A>
void fill(A* to, int64_t count, A value) {
  for (int64_t i = 0; i < count; ++i) to[i] = value;
}

}  // namespace
}  // namespace gaze::detail
