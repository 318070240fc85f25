#include "models/training/gate_statistics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

namespace gaze::models {

std::string GateSummary::stuck_at() const {
  if (near_zero >= kStuck) return "0";
  if (near_half >= kStuck) return "0.5";
  return near_one >= kStuck ? "1" : "";
}

std::vector<std::string> stuck_lines(const std::vector<GateSummary>& gates) {
  constexpr size_t kNamed = 8;
  struct Means {
    const char *at, *one, *several;
  };
  std::vector<std::string> lines;
  for (const Means& means : {Means{"0", "lets nothing pass", "let nothing pass"},
                             Means{"0.5", "halves everything alike", "halve everything alike"},
                             Means{"1", "lets everything pass unchanged", "let everything pass unchanged"}}) {
    std::vector<std::string> names;
    for (const GateSummary& gate : gates) {
      if (gate.stuck_at() == means.at) names.push_back(gate.name);
    }
    if (names.empty()) continue;
    const size_t count = names.size();
    names.resize(std::min(count, kNamed));
    lines.push_back(fmt::format(
        "{} stuck at {} ({:.0f} % of {} values or more are within {} of it) and {}: {}{}",
        count == 1 ? "a gate is" : fmt::format("{} gates are", count), means.at, 100 * kStuck,
        count == 1 ? "its" : "their", kNear, count == 1 ? means.one : means.several, fmt::join(names, ", "),
        count > kNamed ? fmt::format(" and {} more", count - kNamed) : ""));
  }
  return lines;
}

void GateStatistics::add(const std::vector<AttentionMap>& maps) {
  for (const AttentionMap& map : maps) {
    if (map.kind != AttentionMap::Kind::channel && map.kind != AttentionMap::Kind::spatial) continue;
    const torch::Tensor values = map.values.to(torch::kDouble).flatten();
    const auto near = [&](double value) { return (values - value).abs().le(kNear).sum().item<double>(); };
    Sums& sums = sums_[map.name];
    sums.count += static_cast<double>(values.numel());
    sums.sum += values.sum().item<double>();
    sums.squares += values.square().sum().item<double>();
    sums.near_zero += near(0);
    sums.near_half += near(0.5);
    sums.near_one += near(1);
  }
}

std::vector<GateSummary> GateStatistics::summaries() const {
  std::vector<GateSummary> gates;
  for (const auto& [name, sums] : sums_) {
    const double n = std::max(1.0, sums.count), mean = sums.sum / n;
    gates.push_back({name, static_cast<int64_t>(sums.count), mean,
                     std::sqrt(std::max(0.0, sums.squares / n - mean * mean)), sums.near_zero / n,
                     sums.near_half / n, sums.near_one / n});
  }
  return gates;
}

}  // namespace gaze::models
