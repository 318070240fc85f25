#include "modules/attention/positions.h"

#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "modules/core/check.h"

namespace gaze {

torch::Tensor sinusoidal_positions(int64_t first, int64_t length, int64_t width) {
  check_that(width > 0 && width % 2 == 0, "sinusoidal_positions", "an even width",
             fmt::format("width {}", width));
  const auto type = torch::dtype(torch::kDouble);
  const torch::Tensor time = torch::arange(first, first + length, type).unsqueeze(1);  // [T, 1]
  const torch::Tensor rate =
      torch::exp(torch::arange(0, width, 2, type) * (-std::log(10000.0) / width));  // [D/2]
  const torch::Tensor angle = time * rate;                                          // [T, D/2]
  return torch::stack({angle.sin(), angle.cos()}, 2).flatten(1).to(torch::kFloat);  // [T, D]
}

torch::Tensor grid_sinusoidal_positions(int64_t rows, int64_t columns, int64_t width) {
  check_that(width > 0 && width % 4 == 0, "grid_sinusoidal_positions", "a width that is a multiple of 4",
             fmt::format("width {}", width));
  const auto type = torch::dtype(torch::kDouble);
  const int64_t F = width / 2;
  const torch::Tensor rate = torch::exp(torch::arange(0, F, 2, type) * (-std::log(10000.0) / F));  // [F/2]
  const auto axis = [&](int64_t cells) {
    const double share = 2 * M_PI / (static_cast<double>(cells) + 1e-6);
    const torch::Tensor angle = (torch::arange(1, cells + 1, type) * share).unsqueeze(1) * rate;
    return torch::stack({angle.sin(), angle.cos()}, 2).flatten(1);  // [cells, F]
  };
  const torch::Tensor y = axis(rows).unsqueeze(1).expand({rows, columns, F});
  const torch::Tensor x = axis(columns).unsqueeze(0).expand({rows, columns, F});
  return torch::cat({y, x}, 2).flatten(0, 1).to(torch::kFloat);  // [rows * columns, D]
}

torch::Tensor grid_positions(int64_t rows, int64_t columns, int64_t width) {
  check_that(width > 0 && width % 4 == 0, "grid_positions", "a width that is a multiple of 4",
             fmt::format("width {}", width));
  const auto type = torch::dtype(torch::kDouble);
  const int64_t frequencies = width / 4;  // F
  const double last = static_cast<double>(std::max<int64_t>(frequencies - 1, 1));
  const torch::Tensor rate =
      M_PI * torch::exp(torch::arange(frequencies, type) * (std::log(8.0) / last));  // [F]
  const auto axis = [&](int64_t cells) {
    const torch::Tensor place = (torch::arange(cells, type) + 0.5) / static_cast<double>(cells);  // [cells]
    const torch::Tensor angle = place.unsqueeze(1) * rate;  // [cells, F]
    return torch::cat({angle.sin(), angle.cos()}, 1);       // [cells, 2F]
  };
  const torch::Tensor y = axis(rows).unsqueeze(1).expand({rows, columns, 2 * frequencies});
  const torch::Tensor x = axis(columns).unsqueeze(0).expand({rows, columns, 2 * frequencies});
  return torch::cat({y, x}, 2).flatten(0, 1).to(torch::kFloat);  // [rows * columns, D]
}

LearnedPositionsImpl::LearnedPositionsImpl(int64_t length, int64_t width) {
  check_that(length > 0 && width > 0, "learned_positions", "length and width >= 1",
             fmt::format("length {}, width {}", length, width));
  weight_ = register_parameter("weight", torch::empty({length, width}));
  torch::nn::init::normal_(weight_, 0.0, 0.02);
}

torch::Tensor LearnedPositionsImpl::forward(const torch::Tensor& x, int64_t first) {
  check_shape(x, "x", {"B", "T", {"D", weight_.size(1)}}, "learned_positions");
  return x + at(first, x.size(1));
}

torch::Tensor LearnedPositionsImpl::at(int64_t first, int64_t length) const {
  const int64_t last = first + length;
  check_that(first >= 0 && last <= weight_.size(0), "learned_positions",
             fmt::format("places in 0 .. {}", weight_.size(0) - 1),
             fmt::format("places {} .. {}", first, last - 1));
  return weight_.narrow(0, first, length);
}

void LearnedPositionsImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format("gaze::LearnedPositions(length={}, width={})", weight_.size(0), weight_.size(1));
}

GridDistancesImpl::GridDistancesImpl(int64_t distances, int64_t width) {
  check_that(distances > 0 && width > 0, "grid_distances", "distances and width >= 1",
             fmt::format("distances {}, width {}", distances, width));
  row_ = register_parameter("row", torch::zeros({2 * distances - 1, width}));
  column_ = register_parameter("column", torch::zeros({2 * distances - 1, width}));
}

GridBiases GridDistancesImpl::forward(const torch::Tensor& q, int64_t rows, int64_t columns) {
  check_shape(q, "q", {"B", "N", {"rows * columns", rows * columns}, {"D", row_.size(1)}}, "grid_distances");
  const torch::Tensor cells = q.unflatten(2, {rows, columns});  // [B, N, rows, columns, D]
  // The vectors of an axis' distances, for each place of a query and of a key: [cells, cells, D].
  const auto vectors = [](const torch::Tensor& table, int64_t count) {
    const int64_t last = table.size(0) / 2;  // L - 1
    const torch::Tensor place =
        torch::arange(count, torch::TensorOptions(table.device()).dtype(torch::kLong));
    const torch::Tensor distance = (place.unsqueeze(0) - place.unsqueeze(1)).clamp(-last, last) + last;
    return table.index_select(0, distance.flatten()).view({count, count, table.size(1)});
  };
  return {torch::einsum("bnijd,ikd->bnijk", {cells, vectors(row_, rows)}).flatten(2, 3),
          torch::einsum("bnijd,jld->bnijl", {cells, vectors(column_, columns)}).flatten(2, 3)};
}

void GridDistancesImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format("gaze::GridDistances(distances={}, width={})", row_.size(0) / 2 + 1, row_.size(1));
}

}  // namespace gaze
