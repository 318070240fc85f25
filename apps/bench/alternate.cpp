#include "apps/bench/alternate.h"

#include <ATen/Parallel.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "modules/ops/cpu/cpu_isa.h"

namespace gaze {
namespace {

double milliseconds(const std::function<void()>& work, bool cpu_time) {
  if (cpu_time) {
    const std::clock_t start = std::clock();
    work();
    return 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  }
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Whether the C library hands a freed map back to the kernel depends on what came before; the page faults of
// the next one would be most of the time of either side.
void keep_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
}

nlohmann::ordered_json rounded(double value) {
  return std::round(value * 1e4) / 1e4;
}

void add_machine(nlohmann::ordered_json& line) {
  line["isa"] = cpu_isa_name(cpu_isa());
  line["threads"] = at::get_num_threads();
}

}  // namespace

Timing alternate(const Pair& pair, const Rounds& rounds) {
  keep_freed_memory();
  std::vector<double> ours, theirs, ratios;
  for (int round = -rounds.warm_ups; round < rounds.measured; ++round) {
    double mine = 0, other = 0;
    if (round % 2 == 0) mine = milliseconds(pair.ours, rounds.cpu_time);
    other = milliseconds(pair.theirs, rounds.cpu_time);
    if (round % 2 != 0) mine = milliseconds(pair.ours, rounds.cpu_time);
    if (round < 0) continue;
    ours.push_back(mine);
    theirs.push_back(other);
    ratios.push_back(other / mine);
  }
  Timing timing;
  timing.ours_ms = quantile(ours, 0.5);
  timing.peer_ms = quantile(theirs, 0.5);
  timing.ratio = timing.peer_ms / timing.ours_ms;
  timing.spread = (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / quantile(ratios, 0.5);
  return timing;
}

std::string json_line(const Pair& pair, const Timing& timing) {
  nlohmann::ordered_json line{{"name", pair.name},
                              {"ours_ms", rounded(timing.ours_ms)},
                              {"peer", pair.peer},
                              {"peer_ms", rounded(timing.peer_ms)},
                              {"ratio", rounded(timing.ratio)}};
  add_machine(line);
  line["spread"] = rounded(timing.spread);
  return line.dump();
}

std::string json_mean(const std::string& name, const std::vector<Timing>& timings) {
  double logs = 0;
  for (const Timing& timing : timings) logs += std::log(timing.ratio);
  nlohmann::ordered_json line{{"name", name},
                              {"ratio", rounded(std::exp(logs / static_cast<double>(timings.size())))},
                              {"pairs", timings.size()}};
  add_machine(line);
  return line.dump();
}

}  // namespace gaze
