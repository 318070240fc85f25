// Random numbers that are the same on every machine: SplitMix64 (Steele, Lea, Flood 2014) started from a hash
// of what the numbers are for, so that no order of use matters. Includes no torch.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace gaze {

class Random {
 public:
  // The stream of these numbers, e.g. {seed, split, index, purpose}.
  explicit Random(std::initializer_list<uint64_t> key) {
    for (uint64_t part : key) state_ = mix(state_ ^ mix(part + kGolden));
  }

  uint64_t bits() {
    state_ += kGolden;
    return mix(state_);
  }
  // In [0, 1): 53 bits.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // In 0 .. n-1; n > 0.
  int64_t below(int64_t n) { return static_cast<int64_t>(((bits() >> 32) * static_cast<uint64_t>(n)) >> 32); }
  // low .. high, both included.
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(double probability) { return uniform() < probability; }

 private:
  static constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ULL;
  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  uint64_t state_ = 0;
};

}  // namespace gaze
