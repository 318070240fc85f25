// Index arithmetic of window_attend, for host and device. Includes no torch.
//
// Position p of an axis is number p / dilation of group p mod dilation. Within its group of L numbers a query
// r sees keys [first, first + size): clipped, those of [r - before, r + after] that are in [0, L); shifted,
// first = r - before moved into [0, L - size].
#pragma once

#include <cstdint>

#include "modules/core/host_device.h"

namespace gaze::detail {

struct WindowAxis {
  int64_t length, before, after, dilation;
  bool shifted;
};

// Positions first, first + dilation ... of an axis. `slot` is the place of the first in the query's window.
struct WindowSpan {
  int64_t first, count, slot;
};

GAZE_HOST_DEVICE static inline int64_t window_clamp(int64_t x, int64_t least, int64_t most) {
  return x < least ? least : x > most ? most : x;
}

GAZE_HOST_DEVICE static inline int64_t window_size(const WindowAxis& axis) {
  return axis.before + 1 + axis.after;
}

GAZE_HOST_DEVICE static inline int64_t window_group_length(const WindowAxis& axis, int64_t position) {
  return (axis.length - 1 - position % axis.dilation) / axis.dilation + 1;
}

// The number, within its group, of the key in slot 0 of the query's window; it may lie outside of a clipped
// axis.
GAZE_HOST_DEVICE static inline int64_t window_origin(const WindowAxis& axis, int64_t query) {
  const int64_t centred = query / axis.dilation - axis.before;
  if (!axis.shifted) return centred;
  return window_clamp(centred, 0, window_group_length(axis, query) - window_size(axis));
}

// The keys that a query sees.
GAZE_HOST_DEVICE static inline WindowSpan window_seen(const WindowAxis& axis, int64_t query) {
  const int64_t length = window_group_length(axis, query), origin = window_origin(axis, query);
  const int64_t first = window_clamp(origin, 0, length);
  const int64_t end = window_clamp(origin + window_size(axis), 0, length);
  return {first * axis.dilation + query % axis.dilation, end - first, first - origin};
}

// The queries that see a key; no slot, since each has its own. A query at a shifted border sees further than
// `before` or `after`: the first `size` keys are seen from the group's start, the last from its end.
GAZE_HOST_DEVICE static inline WindowSpan window_seeing(const WindowAxis& axis, int64_t key) {
  const int64_t length = window_group_length(axis, key), number = key / axis.dilation;
  const int64_t size = window_size(axis);
  int64_t first = window_clamp(number - axis.after, 0, length);
  int64_t end = window_clamp(number + axis.before + 1, 0, length);
  if (axis.shifted && number < size) first = 0;
  if (axis.shifted && number >= length - size) end = length;
  return {first * axis.dilation + key % axis.dilation, end - first, 0};
}

// The slot of a key in the window of a query that sees it.
GAZE_HOST_DEVICE static inline int64_t window_slot(const WindowAxis& axis, int64_t query, int64_t key) {
  return key / axis.dilation - window_origin(axis, query);
}

}  // namespace gaze::detail
