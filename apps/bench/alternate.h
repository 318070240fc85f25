// Two ways to do the same work, timed in turns, so that whatever else the machine does hits both.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gaze {

struct Pair {
  std::string name;
  std::function<void()> ours;
  std::string peer;  // who the other is
  std::function<void()> theirs;
};

struct Rounds {
  int warm_ups = 5;
  int measured = 40;
  bool cpu_time = false;  // of the process instead of the clock on the wall: with one thread, what a busy
                          // machine does to others is left out
};

struct Timing {
  double ours_ms = 0;  // medians
  double peer_ms = 0;
  double ratio = 0;   // peer_ms / ours_ms
  double spread = 0;  // of the rounds' own ratios: the distance of their quartiles, divided by their median
};

// Each round runs both once, and the one that goes first changes from round to round. From then on the
// process keeps the memory it frees.
Timing alternate(const Pair& pair, const Rounds& rounds);

// The line of results: {"name", "ours_ms", "peer", "peer_ms", "ratio", "isa", "threads", "spread"}.
std::string json_line(const Pair& pair, const Timing& timing);

// The line for a group: {"name", "ratio", "pairs", "isa", "threads"}, the ratio being the geometric mean.
std::string json_mean(const std::string& name, const std::vector<Timing>& timings);

}  // namespace gaze
