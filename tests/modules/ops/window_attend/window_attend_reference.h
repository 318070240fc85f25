// What window_attend should give, found without its index arithmetic: windows by search, the formula a scalar
// at a time in float64, and gradients by PyTorch's autograd through dense scores under a mask.
#pragma once

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "modules/ops/window_attend/window_attend.h"

namespace gaze::test {

struct SeenKey {
  int64_t slot, key;
};

// Of each query of an axis. The positions of its dilation group are listed; a clipped window takes those that
// are near enough, a shifted one that run of `size` of them in which the query stands nearest to its place.
inline std::vector<std::vector<SeenKey>> seen_keys(const ops::Window& window, int64_t length) {
  std::vector<std::vector<SeenKey>> result(static_cast<size_t>(length));
  for (int64_t query = 0; query < length; ++query) {
    std::vector<int64_t> group;
    int64_t rank = 0;
    for (int64_t x = 0; x < length; ++x) {
      if (std::abs(x - query) % window.dilation != 0) continue;
      if (x == query) rank = static_cast<int64_t>(group.size());
      group.push_back(x);
    }
    const auto members = static_cast<int64_t>(group.size());
    int64_t start = rank - window.before;
    if (window.borders == ops::WindowBorders::shifted) {
      int64_t nearest = std::numeric_limits<int64_t>::max();
      for (int64_t run = 0; run + window.size() <= members; ++run) {
        const int64_t place = rank - run;
        if (place < 0 || place >= window.size() || std::abs(place - window.before) >= nearest) continue;
        nearest = std::abs(place - window.before);
        start = run;
      }
    }
    for (int64_t slot = 0; slot < window.size(); ++slot)
      if (start + slot >= 0 && start + slot < members)
        result[query].push_back({slot, group[static_cast<size_t>(start + slot)]});
  }
  return result;
}

// Of each query of a map [H, W], or of a sequence [T], row-major.
inline std::vector<std::vector<SeenKey>> seen_keys(const std::vector<ops::Window>& windows,
                                                   at::IntArrayRef lengths) {
  auto columns = seen_keys(windows.back(), lengths.back());
  if (windows.size() == 1) return columns;
  std::vector<std::vector<SeenKey>> result;
  for (const auto& rows : seen_keys(windows[0], lengths[0]))
    for (const auto& column : columns) {
      result.emplace_back();
      for (const SeenKey& y : rows)
        for (const SeenKey& x : column)
          result.back().push_back({y.slot * windows[1].size() + x.slot, y.key * lengths[1] + x.key});
    }
  return result;
}

inline int64_t slots_of(const std::vector<ops::Window>& windows) {
  int64_t slots = 1;
  for (const ops::Window& window : windows) slots *= window.size();
  return slots;
}

inline at::Tensor flat_double(const at::Tensor& x) {
  const int64_t T = x.dim() == 5 ? x.size(2) * x.size(3) : x.size(2);
  return x.to(at::kDouble).reshape({x.size(0), x.size(1), T, x.size(-1)});
}

// Results of the shapes the op gives, weights per head.
inline ops::WindowAttended window_attend_reference(const at::Tensor& any_q, const at::Tensor& any_k,
                                                   const at::Tensor& any_v,
                                                   const std::vector<ops::Window>& windows,
                                                   std::optional<double> given_scale = std::nullopt) {
  const at::Tensor q = flat_double(any_q), k = flat_double(any_k), v = flat_double(any_v);
  const int64_t B = q.size(0), N = q.size(1), T = q.size(2), D = q.size(3), V = v.size(3);
  const double scale = given_scale.value_or(1 / std::sqrt(static_cast<double>(D)));
  const auto seen = seen_keys(windows, any_q.sizes().slice(2, windows.size()));
  ops::WindowAttended result{at::zeros({B, N, T, V}, at::kDouble),
                             at::zeros({B, N, T, slots_of(windows)}, at::kDouble),
                             at::zeros({B, N, T}, at::kDouble)};
  const auto q_at = q.accessor<double, 4>(), k_at = k.accessor<double, 4>(), v_at = v.accessor<double, 4>();
  auto output_at = result.output.accessor<double, 4>(), weights_at = result.weights.accessor<double, 4>();
  auto log_sum_exp_at = result.log_sum_exp.accessor<double, 3>();
  for (int64_t b = 0; b < B; ++b)
    for (int64_t n = 0; n < N; ++n)
      for (int64_t t = 0; t < T; ++t) {
        std::vector<double> scores;
        double largest = -std::numeric_limits<double>::infinity(), sum = 0;
        for (const SeenKey& s : seen[t]) {
          double dot = 0;
          for (int64_t d = 0; d < D; ++d) dot += q_at[b][n][t][d] * k_at[b][n][s.key][d];
          scores.push_back(dot * scale);
          largest = std::max(largest, scores.back());
        }
        for (const double score : scores) sum += std::exp(score - largest);
        for (size_t i = 0; i < scores.size(); ++i) {
          const double weight = std::exp(scores[i] - largest) / sum;
          weights_at[b][n][t][seen[t][i].slot] = weight;
          for (int64_t d = 0; d < V; ++d) output_at[b][n][t][d] += weight * v_at[b][n][seen[t][i].key][d];
        }
        log_sum_exp_at[b][n][t] = largest + std::log(sum);
      }
  std::vector<int64_t> cells = any_q.sizes().slice(0, any_q.dim() - 1).vec();
  result.log_sum_exp = result.log_sum_exp.view(cells);
  cells.push_back(slots_of(windows));
  result.weights = result.weights.view(cells);
  result.output = result.output.view(any_v.sizes());
  return result;
}

// bool [T, T], true where a query sees a key.
inline at::Tensor window_mask(const std::vector<ops::Window>& windows, at::IntArrayRef lengths) {
  const auto seen = seen_keys(windows, lengths);
  const auto T = static_cast<int64_t>(seen.size());
  at::Tensor mask = at::zeros({T, T}, at::kBool);
  for (int64_t t = 0; t < T; ++t)
    for (const SeenKey& s : seen[t]) mask[t][s.key] = true;
  return mask;
}

// The same by PyTorch's calls, so that its autograd gives gradients. In the dtype of the inputs.
inline ops::WindowAttended window_attend_dense(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                               const std::vector<ops::Window>& windows) {
  const at::IntArrayRef lengths = q.sizes().slice(2, windows.size());
  const auto seen = seen_keys(windows, lengths);
  const auto T = static_cast<int64_t>(seen.size());
  const int64_t B = q.size(0), N = q.size(1), D = q.size(-1), slots = slots_of(windows);
  at::Tensor cells = at::zeros({T, slots}, at::kLong), exist = at::zeros({T, slots}, q.options());
  for (int64_t t = 0; t < T; ++t)
    for (const SeenKey& s : seen[t]) {
      cells[t][s.slot] = s.key;
      exist[t][s.slot] = 1;
    }
  const at::Tensor scores =
      at::matmul(q.reshape({B, N, T, D}), k.reshape({B, N, T, D}).transpose(2, 3)) / std::sqrt(double(D));
  const at::Tensor hidden = window_mask(windows, lengths).logical_not();
  const at::Tensor weights =
      scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()).softmax(3);  // [B, N, T, T]
  const at::Tensor output = at::matmul(weights, v.reshape({B, N, T, v.size(-1)}));
  std::vector<int64_t> shape = q.sizes().slice(0, q.dim() - 1).vec();
  shape.push_back(slots);
  return {
      output.view(v.sizes()), (weights.gather(3, cells.expand({B, N, T, slots})) * exist).view(shape), {}};
}

// A map or, with H = 0, a sequence of W, and its windows.
struct WindowCase {
  int64_t B, N, H, W, D, V;
  std::vector<ops::Window> windows;

  std::vector<int64_t> shape(int64_t width) const {
    if (H == 0) return {B, N, W, width};
    return {B, N, H, W, width};
  }
  ops::WindowAttendOptions options(ops::AttendWeights weights = ops::AttendWeights::none) const {
    return {windows, std::nullopt, weights};
  }
  std::string text() const {
    std::string all = fmt::format("B {} N {} H {} W {} D {} V {}", B, N, H, W, D, V);
    for (const ops::Window& w : windows)
      all += fmt::format(", {}+1+{} dilation {} {}", w.before, w.after, w.dilation,
                         w.borders == ops::WindowBorders::shifted ? "shifted" : "clipped");
    return all;
  }
};

// Windows of one key, wider than the map, as wide as a group; groups of unequal length; widths around the
// lanes; one query past a piece of 64; heads, batches and maps of none.
inline std::vector<WindowCase> window_cases() {
  using ops::Window;
  return {
      {1, 1, 0, 1, 1, 1, {Window::local(0)}},
      {1, 1, 1, 1, 3, 2, {Window::neighborhood(1), Window::local(4)}},
      {2, 3, 0, 7, 5, 3, {Window::local(1)}},
      {1, 2, 0, 7, 16, 16, {Window::local(50)}},
      {1, 2, 0, 11, 17, 4, {Window::neighborhood(3, 3)}},
      {1, 2, 0, 13, 4, 33, {Window::neighborhood(5, 2)}},
      {1, 1, 0, 9, 8, 8, {Window::neighborhood(9)}},
      {1, 1, 0, 10, 8, 8, {Window::neighborhood(4)}},
      {2, 1, 0, 12, 6, 6, {Window::banded(4, 1)}},
      {1, 2, 0, 12, 6, 6, {Window::banded(0, 3, 4)}},
      {1, 2, 0, 65, 8, 5, {Window::causal(6)}},
      {1, 1, 0, 20, 8, 8, {Window::causal(3, 5)}},
      {2, 2, 7, 9, 15, 64, {Window::neighborhood(3), Window::neighborhood(5)}},
      {1, 2, 11, 7, 32, 31, {Window::neighborhood(5, 2), Window::neighborhood(3, 2)}},
      {1, 1, 5, 6, 48, 80, {Window::local(2), Window::neighborhood(3, 2)}},
      {1, 1, 6, 67, 9, 9, {Window::banded(1, 0), Window::banded(0, 2, 3)}},
      {1, 2, 14, 15, 64, 64, {Window::neighborhood(7), Window::neighborhood(7)}},
      {1, 1, 4, 4, 2, 2, {{1, 2, 1, ops::WindowBorders::shifted}, Window::local(1, 9)}},
      {0, 2, 0, 5, 4, 4, {Window::local(1)}},
      {2, 0, 3, 3, 4, 4, {Window::local(1), Window::local(1)}},
      {1, 2, 0, 0, 4, 4, {Window::neighborhood(3)}},
      {1, 2, 0, 3, 4, 4, {Window::neighborhood(3)}},
  };
}

}  // namespace gaze::test
