// Scalar rules of attend, for host and device. Includes no torch. Functions are static, so that a source
// compiled for several instruction sets never shares one.
#pragma once

#include <cmath>
#include <cstdint>

#include "modules/core/host_device.h"

namespace gaze::detail {

GAZE_HOST_DEVICE static inline double attend_default_scale(int64_t width) {
  return 1.0 / std::sqrt(static_cast<double>(width));
}

// The last key that query t of T sees under a causal mask over S keys; negative where it sees none.
GAZE_HOST_DEVICE static inline int64_t attend_last_key(int64_t t, int64_t queries, int64_t keys) {
  return t + keys - queries;
}

// The entry of a table of 2L-1 relative biases for query t and key s.
GAZE_HOST_DEVICE static inline int64_t attend_relative_entry(int64_t t, int64_t s, int64_t queries,
                                                             int64_t keys, int64_t entries) {
  const int64_t entry = t + keys - queries - s + entries / 2;
  return entry < 0 ? 0 : entry >= entries ? entries - 1 : entry;
}

// Dropout by counting: weight s of row r = (b·N + n)·T + t is kept where attend_draw is at least the
// threshold. Three rounds of a 32-bit mixer, so that every device can draw any weight by itself. U is
// uint32_t or a vector of them. The mixer is "lowbias32" (C. Wellons, public domain).
template <typename U>
GAZE_HOST_DEVICE static inline U attend_mix(U x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x;
}

struct AttendRowKey {
  uint32_t first, second;
};
GAZE_HOST_DEVICE static inline AttendRowKey attend_row_key(int64_t seed, int64_t row) {
  const auto low = [](int64_t x) { return static_cast<uint32_t>(x); };
  const auto high = [](int64_t x) { return static_cast<uint32_t>(static_cast<uint64_t>(x) >> 32); };
  uint32_t key = attend_mix<uint32_t>(low(seed) + 0x9e3779b9U);
  key = attend_mix<uint32_t>(key + high(seed));
  key = attend_mix<uint32_t>(key ^ high(row));
  key = attend_mix<uint32_t>(key ^ low(row));
  return {key, attend_mix<uint32_t>(key + 0x85ebca6bU)};
}
template <typename U>
GAZE_HOST_DEVICE static inline U attend_draw(AttendRowKey key, U s) {
  return attend_mix<U>(attend_mix<U>(s ^ key.first) + key.second);
}
// Draws below it are dropped: p · 2^32.
GAZE_HOST_DEVICE static inline uint32_t attend_dropout_threshold(double dropout) {
  return static_cast<uint32_t>(dropout * 4294967296.0);
}

}  // namespace gaze::detail
