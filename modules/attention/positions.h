// Where tokens are: sinusoidal codes of places in a sequence and in a picture, learned ones, and biases of
// distances.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

namespace gaze {

// Vaswani et al. 2017: p[t, 2i] = sin(t / 10000^(2i/D)), p[t, 2i+1] = cos of the same, t = first, first + 1,
// ...
// -> [T, D] float32. Throws ArgumentError for an odd D.
torch::Tensor sinusoidal_positions(int64_t first, int64_t length, int64_t width);

// With y = (row + 0.5) / rows and x = (column + 0.5) / columns, and F = D/4 frequencies f_i = 8^(i/(F-1)) / 2
// cycles a picture (from half a cycle to four):
//   p = [sin(2 pi f_i y) | cos(2 pi f_i y) | sin(2 pi f_i x) | cos(2 pi f_i x)],  i = 0 .. F-1.
// The coordinates are shares of the picture, so the same place has the same code on any grid.
// -> [rows * columns, D] float32, row-major. Throws ArgumentError for a D that is no multiple of 4.
torch::Tensor grid_positions(int64_t rows, int64_t columns, int64_t width);

// The same code of both axes (Carion et al. 2020, DETR, normalised): with y = 2 pi (row + 1) / (rows + 1e-6),
// x likewise, and F = D/2,
//   p = [c(y) | c(x)],   c(z)[2i] = sin(z / 10000^(2i/F)), c(z)[2i+1] = cos of the same.
// -> [rows * columns, D] float32, row-major. Throws ArgumentError for a D that is no multiple of 4.
torch::Tensor grid_sinusoidal_positions(int64_t rows, int64_t columns, int64_t width);

// A learned vector for each place (Gehring et al. 2017). x [B, T, D] -> x + weight[first .. first + T - 1];
// throws ArgumentError for another width and for places behind the last. State key: weight [L, D], which
// starts normal with deviation 0.02.
class LearnedPositionsImpl : public torch::nn::Module {
 public:
  LearnedPositionsImpl(int64_t length, int64_t width);

  torch::Tensor forward(const torch::Tensor& x, int64_t first = 0);
  torch::Tensor at(int64_t first, int64_t length) const;  // weight[first .. first + length - 1]
  void pretty_print(std::ostream& stream) const override;

 private:
  torch::Tensor weight_;
};
TORCH_MODULE(LearnedPositions);

// What a query thinks of each row and each column of keys on a grid.
struct GridBiases {
  torch::Tensor rows;     // [B, N, T, rows]
  torch::Tensor columns;  // [B, N, T, columns]
};

// Relative positions on a grid (Srinivas et al. 2021, BoTNet; decomposed as in Li et al. 2022, MViTv2): a
// learned vector for each distance of rows and one for each distance of columns, the same for every head. The
// score of a query q at (i, j) and a key at (k, l) grows by
//   q · row[L - 1 + clip(k - i)] + q · column[L - 1 + clip(l - j)],   clip to -(L - 1) .. L - 1
// q [B, N, rows·columns, D], row by row -> ops::AttendOptions's row_bias and column_bias. Throws
// ArgumentError for shapes that do not fit. State keys: row [2L-1, D], column [2L-1, D], which start at 0.
class GridDistancesImpl : public torch::nn::Module {
 public:
  GridDistancesImpl(int64_t distances, int64_t width);

  GridBiases forward(const torch::Tensor& q, int64_t rows, int64_t columns);
  void pretty_print(std::ostream& stream) const override;

 private:
  torch::Tensor row_, column_;
};
TORCH_MODULE(GridDistances);

}  // namespace gaze
