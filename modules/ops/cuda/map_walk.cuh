// How the threads of a grid share a map [B, C, cells] that is read channel by channel: who meets which
// element, and how what the threads of a channel have summed comes together. One walk per memory order; both
// let a channel be cut into chunks of cells, so that few channels fill a device too.
#pragma once

#include <cstdint>

#include "modules/core/host_device.h"
#include "modules/ops/cuda/grid.h"
#include "modules/ops/cuda/pack.h"

namespace gaze::detail {

struct MapSplit {
  int64_t B, C, cells;
  int64_t chunks;       // of each channel
  int64_t chunk_cells;  // of every chunk but the last
  int lanes;            // channels-last: threads side by side along the channels; a power of two
  int threads;          // of a block; a power of two
};

template <int N>
struct Width {
  static constexpr int value = N;
};

inline constexpr int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
template <class T>
GAZE_HOST_DEVICE inline constexpr T smaller_of(T a, T b) {
  return b < a ? b : a;
}

// Cuts `cells` into about `wanted` chunks of at least `least` cells, a multiple of `unit` each.
inline void cut_cells(MapSplit& split, int64_t wanted, int64_t least, int64_t unit) {
  constexpr int64_t kMost = 128;  // whoever joins the chunks reads them one by one
  const int64_t chunks = wanted < 1 ? 1 : smaller_of(wanted, kMost);
  const int64_t cells = divide_up(split.cells, chunks);
  split.chunk_cells = divide_up(cells < least ? least : cells, unit) * unit;
  split.chunks = divide_up(split.cells, split.chunk_cells);
}

// NCHW: a warp takes a chunk of one channel, in packs from the first aligned element on.
template <class T>
class RowWalk {
 public:
  static constexpr int kChannels = 1;  // that a thread sums
  static constexpr int kPack = kPackSize<T>;

  // `processors`: how many the device has.
  static MapSplit split(int64_t B, int64_t C, int64_t cells, int threads, int processors) {
    constexpr int64_t kWarps = 64;  // that a processor holds
    MapSplit split{B, C, cells, 1, cells, 32, threads};
    cut_cells(split, divide_up(kWarps * processors, B * C), 32 * kPack * 2, 32 * kPack);
    return split;
  }
  static Grid grid(const MapSplit& split, int64_t) {
    return {divide_up(split.B * split.C * split.chunks, split.threads / 32), split.threads, 0};
  }

  template <class Thread>
  GAZE_HOST_DEVICE RowWalk(const Thread& t, const MapSplit& split) : lane_(t.lane()) {
    const int64_t unit = t.block() * t.warps() + t.warp();
    here_ = unit < split.B * split.C * split.chunks;
    row_ = here_ ? unit / split.chunks : 0;
    chunk_ = here_ ? unit % split.chunks : 0;
    begin_ = chunk_ * split.chunk_cells;
    end_ = here_ ? smaller_of(begin_ + split.chunk_cells, split.cells) : begin_;
    offset_ = row_ * split.cells;
  }

  // This thread writes what its channels have come to.
  GAZE_HOST_DEVICE bool writes() const { return here_ && lane_ == 0; }
  GAZE_HOST_DEVICE bool here() const { return here_; }
  // b * C + c of this thread's e-th channel.
  GAZE_HOST_DEVICE int64_t channel(int) const { return row_; }
  GAZE_HOST_DEVICE int64_t chunk() const { return chunk_; }
  // Of the e-th element of a pack: which of this thread's channels, and how many cells after the first.
  GAZE_HOST_DEVICE static constexpr int channel_of(int) { return 0; }
  GAZE_HOST_DEVICE static constexpr int cells_after(int e) { return e; }

  // visit(Width<N>, offset into the map, cell) for this thread's elements, N at a time, cells in rising
  // order.
  template <class Visit>
  GAZE_HOST_DEVICE void each(const Visit& visit) const {
    const int64_t misaligned = (offset_ + begin_) % kPack;
    const int64_t first = smaller_of(begin_ + (misaligned == 0 ? 0 : kPack - misaligned), end_);
    const int64_t last = first + (end_ - first) / kPack * kPack;
    if (begin_ + lane_ < first) visit(Width<1>(), offset_ + begin_ + lane_, begin_ + lane_);
    for (int64_t cell = first + lane_ * kPack; cell < last; cell += 32 * kPack) {
      visit(Width<kPack>(), offset_ + cell, cell);
    }
    if (last + lane_ < end_) visit(Width<1>(), offset_ + last + lane_, last + lane_);
  }

  // Afterwards the threads that write hold their channels' sums.
  template <class Thread, class Sums>
  GAZE_HOST_DEVICE void join(Thread& t, Sums (&sums)[kChannels]) const {
    for (int flip = 16; flip >= 1; flip /= 2) sums[0].merge(sums[0].shuffled_xor(t, flip));
  }

 private:
  int lane_;
  bool here_;
  int64_t row_, chunk_, begin_, end_, offset_;
};

// Channels-last: a block takes a tile of channels of one picture and a chunk of its cells; `lanes` threads
// lie along the channels with kPack of them each, the rest along the cells.
template <class T, int N>
class ChannelWalk {
 public:
  static constexpr int kChannels = N;
  static constexpr int kPack = N;

  static MapSplit split(int64_t B, int64_t C, int64_t cells, int threads, int processors) {
    constexpr int64_t kBlocks = 8;  // that a processor holds
    MapSplit split{B, C, cells, 1, cells, 1, threads};
    while (split.lanes < 32 && split.lanes * kPack < C) split.lanes *= 2;
    cut_cells(split, divide_up(kBlocks * processors, B * tiles(split)), 4 * threads / split.lanes, 1);
    return split;
  }
  // `bytes`: what join() keeps of one channel.
  static Grid grid(const MapSplit& split, int64_t shared_bytes) {
    return {split.B * tiles(split) * split.chunks, split.threads, shared_bytes};
  }

  template <class Thread>
  GAZE_HOST_DEVICE ChannelWalk(const Thread& t, const MapSplit& split) : lanes_(split.lanes), C_(split.C) {
    const int64_t block = t.block();
    chunk_ = block % split.chunks;
    const int64_t tile = block / split.chunks % tiles(split);
    const int64_t b = block / split.chunks / tiles(split);
    lane_ = t.thread() % lanes_;
    row_ = t.thread() / lanes_;
    rows_ = t.threads() / lanes_;
    const int64_t c = (tile * lanes_ + lane_) * kPack;
    here_ = c < C_;
    channel_ = b * C_ + c;
    begin_ = chunk_ * split.chunk_cells;
    end_ = here_ ? smaller_of(begin_ + split.chunk_cells, split.cells) : begin_;
    offset_ = b * split.cells * C_ + c;
  }

  GAZE_HOST_DEVICE bool writes() const { return here_ && row_ == 0; }
  GAZE_HOST_DEVICE bool here() const { return here_; }
  GAZE_HOST_DEVICE int64_t channel(int e) const { return channel_ + e; }
  GAZE_HOST_DEVICE int64_t chunk() const { return chunk_; }
  GAZE_HOST_DEVICE static constexpr int channel_of(int e) { return e; }
  GAZE_HOST_DEVICE static constexpr int cells_after(int) { return 0; }

  template <class Visit>
  GAZE_HOST_DEVICE void each(const Visit& visit) const {
    for (int64_t cell = begin_ + row_; cell < end_; cell += rows_) {
      visit(Width<kPack>(), offset_ + cell * C_, cell);
    }
  }

  template <class Thread, class Sums>
  GAZE_HOST_DEVICE void join(Thread& t, Sums (&sums)[kChannels]) const {
    typename Sums::template Shelf<Thread> shelf(t, t.threads() * kChannels);
    for (int half = rows_ / 2; half >= 1; half /= 2) {
      if (row_ >= half && row_ < 2 * half) {
        for (int e = 0; e < kChannels; ++e) shelf.put(place(row_, e), sums[e]);
      }
      t.sync();
      if (row_ < half) {
        for (int e = 0; e < kChannels; ++e) sums[e].merge(shelf.get(place(row_ + half, e)));
      }
    }
  }

 private:
  GAZE_HOST_DEVICE static int64_t tiles(const MapSplit& split) {
    const int64_t width = split.lanes * kPack;
    return (split.C + width - 1) / width;
  }
  // Neighbouring lanes lie in neighbouring banks.
  GAZE_HOST_DEVICE int place(int row, int e) const { return (row * kChannels + e) * lanes_ + lane_; }

  int lanes_, lane_, row_, rows_;
  bool here_;
  int64_t C_, chunk_, channel_, begin_, end_, offset_;
};

// body(Walk*), a null pointer that only names the walk for such a map; its memory is aligned to 16 bytes.
template <class T, class Body>
auto for_walk(bool channels_last, int64_t C, const Body& body) {
  if (!channels_last) return body(static_cast<RowWalk<T>*>(nullptr));
  if (C % kPackSize<T> == 0) return body(static_cast<ChannelWalk<T, kPackSize<T>>*>(nullptr));
  return body(static_cast<ChannelWalk<T, 1>*>(nullptr));
}

}  // namespace gaze::detail
