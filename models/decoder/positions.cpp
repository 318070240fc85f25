#include "models/decoder/positions.h"

#include <torch/types.h>

#include <cmath>

namespace gaze::models {

at::Tensor word_positions(int64_t first, int64_t length, int64_t width) {
  const auto type = torch::dtype(torch::kDouble);
  const at::Tensor time = torch::arange(first, first + length, type).unsqueeze(1);  // [T, 1]
  const at::Tensor rate =
      torch::exp(torch::arange(0, width, 2, type) * (-std::log(10000.0) / width));  // [D/2]
  const at::Tensor angle = time * rate;                                             // [T, D/2]
  return torch::stack({angle.sin(), angle.cos()}, 2).flatten(1).to(torch::kFloat);  // [T, D]
}

at::Tensor cell_positions(int64_t rows, int64_t columns, int64_t width) {
  const auto type = torch::dtype(torch::kDouble);
  const int64_t frequencies = width / 4;  // F
  const double last = static_cast<double>(std::max<int64_t>(frequencies - 1, 1));
  const at::Tensor rate =
      M_PI * torch::exp(torch::arange(frequencies, type) * (std::log(8.0) / last));  // [F]
  const auto axis = [&](int64_t cells) {
    const at::Tensor place = (torch::arange(cells, type) + 0.5) / static_cast<double>(cells);  // [cells]
    const at::Tensor angle = place.unsqueeze(1) * rate;                                        // [cells, F]
    return torch::cat({angle.sin(), angle.cos()}, 1);                                          // [cells, 2F]
  };
  const at::Tensor y = axis(rows).unsqueeze(1).expand({rows, columns, 2 * frequencies});
  const at::Tensor x = axis(columns).unsqueeze(0).expand({rows, columns, 2 * frequencies});
  return torch::cat({y, x}, 2).flatten(0, 1).to(torch::kFloat);  // [rows * columns, D]
}

}  // namespace gaze::models
