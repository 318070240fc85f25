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
  const int64_t last = first + x.size(1);
  check_that(first >= 0 && last <= weight_.size(0), "learned_positions",
             fmt::format("places in 0 .. {}", weight_.size(0) - 1),
             fmt::format("places {} .. {}", first, last - 1));
  return x + weight_.narrow(0, first, x.size(1));
}

void LearnedPositionsImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format("gaze::LearnedPositions(length={}, width={})", weight_.size(0), weight_.size(1));
}

}  // namespace gaze
