// Additive attention a scalar at a time in float64, and inputs to try it on.
#pragma once

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "modules/ops/additive_attend/additive_attend.h"

namespace gaze::test {

struct AdditiveTensors {
  at::Tensor query, key, v, values;

  std::vector<at::Tensor> list() const { return {query, key, v, values}; }
  AdditiveTensors to(at::ScalarType dtype) const {
    return {query.to(dtype), key.to(dtype), v.to(dtype), values.to(dtype)};
  }
};

struct AdditiveShape {
  int64_t B, T, S, D, V;

  std::string text() const { return fmt::format("B {} T {} S {} D {} V {}", B, T, S, D, V); }
};

// One of everything, odd sizes, none of something, one past a tile of 32 rows or 128 columns, many keys.
inline std::vector<AdditiveShape> additive_shapes() {
  return {{1, 1, 1, 1, 1},    {2, 5, 7, 3, 5},   {3, 1, 49, 33, 16}, {1, 4, 8, 16, 32},
          {0, 3, 4, 2, 2},    {2, 0, 3, 4, 4},   {2, 3, 0, 4, 4},    {2, 3, 4, 5, 0},
          {2, 33, 65, 17, 9}, {1, 3, 2, 129, 3}, {1, 2, 1000, 8, 2}, {1, 31, 34, 257, 65}};
}

// What queries and keys are multiplied by: a tanh of small ones is taken apart, of large ones on either side
// taken as it is.
struct AdditiveSizes {
  double query = 1, key = 1;

  std::string text() const { return fmt::format("queries times {}, keys times {}", query, key); }
};

inline std::vector<AdditiveSizes> additive_sizes() {
  return {{1, 1}, {15, 15}, {1, 60}, {60, 1}};
}

// v is scaled so that scores keep their size in any width.
inline AdditiveTensors additive_tensors(const AdditiveShape& z, const AdditiveSizes& sizes = {}) {
  return {at::randn({z.B, z.T, z.D}) * sizes.query, at::randn({z.B, z.S, z.D}) * sizes.key,
          at::randn({z.D}) * (3 / std::sqrt(double(z.D))), at::randn({z.B, z.S, z.V})};
}

inline std::vector<std::pair<std::string, at::Tensor>> additive_masks(const AdditiveShape& z) {
  at::Tensor tail = at::ones({z.B, z.S}, at::kBool);  // padded at the end, the first row wholly
  for (int64_t b = 0; b < z.B; ++b) tail[b].slice(0, std::min(z.S, b * 3)).fill_(false);
  return {{"no mask", {}},
          {"padding", at::rand({z.B, z.S}) > 0.3},
          {"padding at the end", tail},
          {"pairs", at::rand({z.B, z.T, z.S}) > 0.5},
          {"one for all", (at::rand({1, 1, z.S}) > 0.5).expand({z.B, z.T, z.S})},
          {"nothing to see", at::zeros({z.B, z.S}, at::kBool)}};
}

inline ops::AdditiveAttended additive_reference(const AdditiveTensors& any, const at::Tensor& mask) {
  const AdditiveTensors in = any.to(at::kDouble);
  const int64_t B = in.query.size(0), T = in.query.size(1), S = in.key.size(1), D = in.query.size(2),
                V = in.values.size(2);
  ops::AdditiveAttended result{at::zeros({B, T, V}, at::kDouble), at::zeros({B, T, S}, at::kDouble)};
  at::Tensor seen = at::ones({B, T, S}, at::kBool);
  if (mask.defined()) seen = mask.dim() == 3 ? mask : mask.unsqueeze(1).expand({B, T, S});
  const auto query = in.query.accessor<double, 3>(), key = in.key.accessor<double, 3>(),
             values = in.values.accessor<double, 3>();
  const auto v = in.v.accessor<double, 1>();
  const auto seen_at = seen.accessor<bool, 3>();
  auto context = result.context.accessor<double, 3>(), weights = result.weights.accessor<double, 3>();
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < T; ++t) {
      std::vector<double> scores(S, -std::numeric_limits<double>::infinity());
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t s = 0; s < S; ++s) {
        if (!seen_at[b][t][s]) continue;
        scores[s] = 0;
        for (int64_t d = 0; d < D; ++d) scores[s] += v[d] * std::tanh(query[b][t][d] + key[b][s][d]);
        largest = std::max(largest, scores[s]);
      }
      if (std::isinf(largest)) continue;
      for (int64_t s = 0; s < S; ++s) sum += std::exp(scores[s] - largest);
      for (int64_t s = 0; s < S; ++s) {
        weights[b][t][s] = std::exp(scores[s] - largest) / sum;
        for (int64_t i = 0; i < V; ++i) context[b][t][i] += weights[b][t][s] * values[b][s][i];
      }
    }
  return result;
}

}  // namespace gaze::test
