// attend, a scalar at a time in float64, with every option.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "modules/ops/attend/attend.h"
#include "modules/ops/attend/attend_math.h"

namespace gaze::test {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// All weights of every head.
inline ops::AttendOptions with_weights(bool causal = false) {
  ops::AttendOptions options;
  options.weights = ops::AttendWeights::per_head;
  options.causal = causal;
  return options;
}

inline at::Tensor wide(const at::Tensor& x, at::IntArrayRef shape) {
  return x.to(at::kDouble).expand(shape);
}

// weights are per head, [B, N, T, S], whatever the options ask for; all the statistics are there.
inline ops::Attended attend_reference(const at::Tensor& q_any, const at::Tensor& k_any,
                                      const at::Tensor& v_any, const at::Tensor& mask,
                                      const ops::AttendOptions& options = {}) {
  const at::Tensor q = q_any.to(at::kDouble), k = k_any.to(at::kDouble), v = v_any.to(at::kDouble);
  const int64_t B = q.size(0), N = q.size(1), T = q.size(2), S = k.size(2), D = q.size(3), V = v.size(3);
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(D)));
  at::Tensor added = at::zeros({B, N, T, S}, at::kDouble);  // after the scaling
  if (options.bias.defined()) added = added + options.bias.to(at::kDouble);
  if (mask.defined() && mask.scalar_type() != at::kBool) added = added + mask.to(at::kDouble);
  if (mask.defined() && mask.scalar_type() == at::kBool)
    added = added.masked_fill(mask.logical_not(), -kInfinity);
  ops::Attended result{at::zeros({B, N, T, V}, at::kDouble), at::zeros({B, N, T, S}, at::kDouble),
                       at::full({B, N, T}, -kInfinity, at::kDouble), at::zeros({B, N, S}, at::kDouble),
                       at::zeros({B, N, T}, at::kDouble)};
  const auto q_at = q.accessor<double, 4>(), k_at = k.accessor<double, 4>(), v_at = v.accessor<double, 4>();
  const auto added_at = added.accessor<double, 4>();
  auto output = result.output.accessor<double, 4>(), weights = result.weights.accessor<double, 4>();
  auto log_sum_exp = result.log_sum_exp.accessor<double, 3>(),
       key_sums = result.key_sums.accessor<double, 3>(), entropy = result.entropy.accessor<double, 3>();
  at::Tensor rows, columns, table;
  if (options.row_bias.defined()) {
    rows = wide(options.row_bias, {B, N, T, options.row_bias.size(3)}).contiguous();
    columns = wide(options.column_bias, {B, N, T, options.column_bias.size(3)}).contiguous();
  }
  if (options.relative.defined()) table = wide(options.relative, {N, options.relative.size(1)}).contiguous();
  const auto score = [&](int64_t b, int64_t n, int64_t t, int64_t s) {
    double dot = 0, bias = added_at[b][n][t][s];
    for (int64_t d = 0; d < D; ++d) dot += q_at[b][n][t][d] * k_at[b][n][s][d];
    if (table.defined()) {
      const int64_t reach = (table.size(1) - 1) / 2;  // L - 1
      const int64_t behind = std::clamp(t + S - T - s, -reach, reach);
      const double entry = table.accessor<double, 2>()[n][reach + behind];
      (options.relative_inside ? dot : bias) += entry;
    }
    if (rows.defined()) {
      const int64_t wide_by = columns.size(3);
      bias += rows.accessor<double, 4>()[b][n][t][s / wide_by];
      bias += columns.accessor<double, 4>()[b][n][t][s % wide_by];
    }
    const bool hidden = (options.causal && s > t + S - T) ||
                        (options.key_mask.defined() && !options.key_mask[b][s].item<bool>());
    return hidden ? -kInfinity : dot * scale + bias;
  };
  for (int64_t b = 0; b < B; ++b)
    for (int64_t n = 0; n < N; ++n)
      for (int64_t t = 0; t < T; ++t) {
        std::vector<double> scores(S);
        double largest = -kInfinity, sum = 0;
        for (int64_t s = 0; s < S; ++s) largest = std::max(largest, scores[s] = score(b, n, t, s));
        if (largest == -kInfinity) continue;
        for (int64_t s = 0; s < S; ++s) sum += std::exp(scores[s] - largest);
        log_sum_exp[b][n][t] = std::log(sum) + largest;
        const detail::AttendRowKey key = detail::attend_row_key(options.seed, (b * N + n) * T + t);
        for (int64_t s = 0; s < S; ++s) {
          const double weight = std::exp(scores[s] - largest) / sum;
          weights[b][n][t][s] = weight;
          key_sums[b][n][s] += weight;
          if (weight > 0) entropy[b][n][t] -= weight * std::log(weight);
          const bool kept =
              detail::attend_draw<uint32_t>(key, static_cast<uint32_t>(s)) >= options.dropout * 4294967296.0;
          const double grown = options.dropout == 0 ? weight : kept ? weight / (1 - options.dropout) : 0;
          for (int64_t d = 0; d < V; ++d) output[b][n][t][d] += grown * v_at[b][n][s][d];
        }
      }
  return result;
}

}  // namespace gaze::test
