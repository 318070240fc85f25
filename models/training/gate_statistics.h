// How open the gates of attention blocks stand, over many pictures.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "modules/core/attention_map.h"

namespace gaze::models {

// Near a value means at most kNear from it; a gate is stuck where at least kStuck of its values are.
constexpr double kNear = 0.05, kStuck = 0.95;

struct GateSummary {
  std::string name;  // "layer3.5.attn.0/channel"
  int64_t count = 0;
  double mean = 0, deviation = 0;                     // over all its values
  double near_zero = 0, near_half = 0, near_one = 0;  // shares of its values

  std::string stuck_at() const;  // "0", "0.5", "1", or empty
};

// What to say of those of `gates` that are stuck: a line a value, with at most eight names: "3 gates are
// stuck at 0.5 (95 % of their values or more are within 0.05 of it) and halve everything alike:
// layer3.5.attn.0/channel, ...".
std::vector<std::string> stuck_lines(const std::vector<GateSummary>& gates);

class GateStatistics {
 public:
  // Adds the channel and spatial maps; token maps are weights that sum to 1, not gates.
  void add(const std::vector<AttentionMap>& maps);

  // In the order of their names.
  std::vector<GateSummary> summaries() const;

 private:
  struct Sums {
    double count = 0, sum = 0, squares = 0, near_zero = 0, near_half = 0, near_one = 0;
  };
  std::map<std::string, Sums> sums_;
};

}  // namespace gaze::models
