// linear_attend a scalar at a time in float64, and random calls of it.
#pragma once

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "modules/ops/linear_attend/linear_attend.h"

namespace gaze::test {

// The logarithm of φ(x)·φ(y) for rows of width D; -inf where it is 0.
inline double log_similarity(const double* x, const double* y, int64_t D,
                             const ops::LinearAttendOptions& options, const at::Tensor& projection) {
  if (options.map != ops::FeatureMap::positive_random) {
    double sum = 0;
    for (int64_t d = 0; d < D; ++d) {
      const auto feature = [&](double z) {
        if (options.map == ops::FeatureMap::relu) return std::max(z, 0.0);
        return z > 0 ? z + 1 : std::exp(z);
      };
      sum += feature(x[d]) * feature(y[d]);
    }
    return std::log(sum);
  }
  const double scale = options.scale.value_or(1 / std::sqrt(double(D)));
  const int64_t M = projection.size(0);
  const auto* const w = projection.const_data_ptr<double>();
  std::vector<double> exponents(M);
  for (int64_t m = 0; m < M; ++m) {
    double dot = 0, squares = 0;
    for (int64_t d = 0; d < D; ++d) {
      dot += w[m * D + d] * (x[d] + y[d]);
      squares += x[d] * x[d] + y[d] * y[d];
    }
    exponents[m] = std::sqrt(scale) * dot - scale * squares / 2;
  }
  const double largest = *std::max_element(exponents.begin(), exponents.end());
  double sum = 0;
  for (const double exponent : exponents) sum += std::exp(exponent - largest);
  return largest + std::log(sum) - std::log(double(M));
}

inline at::Tensor linear_attend_reference(const at::Tensor& q_any, const at::Tensor& k_any,
                                          const at::Tensor& v_any, const at::Tensor& mask,
                                          const ops::LinearAttendOptions& options) {
  const auto wide = [](const at::Tensor& x) { return x.detach().to(at::kDouble).contiguous(); };
  const at::Tensor q = wide(q_any), k = wide(k_any), v = wide(v_any);
  const at::Tensor projection = options.projection.defined() ? wide(options.projection) : at::Tensor();
  const int64_t B = q.size(0), N = q.size(1), T = q.size(2), S = k.size(2), D = q.size(3), V = v.size(3);
  at::Tensor output = at::zeros({B, N, T, V}, at::kDouble);
  auto* const out = output.mutable_data_ptr<double>();
  for (int64_t b = 0; b < B; ++b)
    for (int64_t n = 0; n < N; ++n)
      for (int64_t t = 0; t < T; ++t) {
        const int64_t head = b * N + n;
        std::vector<int64_t> seen;
        std::vector<double> weights;
        for (int64_t s = 0; s < S && (!options.causal || s <= t + S - T); ++s) {
          if (mask.defined() && !mask[b][s].item<bool>()) continue;
          seen.push_back(s);
          weights.push_back(log_similarity(q.const_data_ptr<double>() + (head * T + t) * D,
                                           k.const_data_ptr<double>() + (head * S + s) * D, D, options,
                                           projection));
        }
        const double largest = seen.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
        if (seen.empty() || largest == -std::numeric_limits<double>::infinity()) continue;
        double sum = 0;
        for (double& weight : weights) sum += weight = std::exp(weight - largest);
        for (size_t i = 0; i < seen.size(); ++i)
          for (int64_t d = 0; d < V; ++d)
            out[(head * T + t) * V + d] +=
                weights[i] / sum * v.const_data_ptr<double>()[(head * S + seen[i]) * V + d];
      }
  return output;
}

struct LinearAttendCase {
  at::Tensor q, k, v, mask;
  ops::LinearAttendOptions options;
  std::string text;
};

constexpr ops::FeatureMap kFeatureMaps[] = {ops::FeatureMap::elu_plus_one, ops::FeatureMap::relu,
                                            ops::FeatureMap::positive_random};

inline ops::LinearAttendOptions linear_attend_options(ops::FeatureMap map, bool causal, int64_t D,
                                                      int64_t M = 11) {
  ops::LinearAttendOptions options;
  options.map = map;
  options.causal = causal;
  if (map == ops::FeatureMap::positive_random) options.projection = at::randn({M, D}, at::kDouble);
  return options;
}

// The case of a number: all maps, causal and not, masked or not, sizes around lanes, tiles and chunks. Also
// draws from torch's generator, which the caller has seeded.
inline LinearAttendCase random_case(int64_t number, at::ScalarType dtype) {
  std::mt19937 random(static_cast<unsigned>(number));
  const auto any_of = [&](std::vector<int64_t> values) { return values[random() % values.size()]; };
  const int64_t B = any_of({1, 1, 2}), N = any_of({1, 2, 3}), D = any_of({1, 3, 8, 15, 16, 17, 33});
  const int64_t T = any_of({1, 2, 5, 31, 63, 64, 65, 100}), V = any_of({1, 4, 15, 16, 17, 33});
  const bool causal = number / 3 % 2 == 1;
  const int64_t S = any_of({T, T, 1, 7, 64, 66, 130});
  const auto map = kFeatureMaps[number % 3];
  LinearAttendCase made;
  made.options = linear_attend_options(map, causal, D, any_of({1, 5, 16, 20}));
  made.q = at::randn({B, N, T, D}).to(dtype);
  made.k = at::randn({B, N, S, D}).to(dtype);
  made.v = at::randn({B, N, S, V}).to(dtype);
  if (random() % 3 == 0) made.mask = at::rand({B, S}) > 0.3;
  made.text = fmt::format("case {}: map {}, causal {}, mask {}, B {} N {} T {} S {} D {} V {}", number,
                          static_cast<int>(map), causal, made.mask.defined(), B, N, T, S, D, V);
  return made;
}

inline at::Tensor run(const LinearAttendCase& any) {
  return ops::linear_attend(any.q, any.k, any.v, any.mask, any.options);
}

}  // namespace gaze::test
