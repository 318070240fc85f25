// The scores of additive_attend for all pairs of query and key, a tile at a time. Included by sources
// compiled per instruction set alone, see lanes.h.
#pragma once

#include "modules/ops/additive_attend/additive_attend_cpu_kernel.h"
#include "modules/ops/cpu/lanes.h"
#include "modules/ops/cpu/lanes_tanh.h"

namespace gaze::detail {
namespace {  // NOLINT: one copy a build is the point

constexpr int64_t kSlots = 64;  // buffers, whatever the number of threads

// The row of token `row` in a tensor of memory type T.
template <typename T>
GAZE_LANES const T* token(const void* base, const TokenStrides& strides, int64_t b, int64_t row) {
  return static_cast<const T*>(base) + b * strides.b + row * strides.row;
}

template <typename V>
GAZE_LANES V magnitude_of(V x) {
  return x < 0 ? -x : x;
}

// [0, count) in blocks of four and then of one: body(first, Block<4 or 1>).
template <int64_t kCount>
struct Block {
  static constexpr int64_t count = kCount;
};
template <typename Body>
GAZE_LANES void for_blocks_of_four(int64_t count, const Body& body) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) body(i, Block<4>());
  for (; i < count; ++i) body(i, Block<1>());
}

template <typename T, typename A>
class AdditiveScores {
 public:
  AdditiveScores(const AdditiveInputs& p, CpuRuntime& run)
      : p_(p), run_(run), t_(even(p.T)), s_(even(p.S)), pitch_(whole_lanes(smaller(p.D, kWidth))) {}

  // scores [B, T, S], sum over d of v[d] · tanh(query[b, t, d] + key[b, s, d]). Left as they are where no
  // query of a tile may look at any of its keys.
  void write(A* scores) {
    const int64_t tasks = p_.B * t_.count * s_.count, slots = smaller(tasks, kSlots);
    const int64_t room = (t_.step + s_.step) * pitch_;
    A* const buffers = run_.scratch<A>(slots * room);
    v_ = run_.scratch<A>(whole_lanes(p_.D));
    for (int64_t d = 0; d < whole_lanes(p_.D); ++d) v_[d] = d < p_.D ? load_one(v() + d) : A(0);
    run_.parallel(slots, [&](int64_t slot) {
      for (int64_t task = slot; task < tasks; task += slots) {
        const int64_t t = task / s_.count % t_.count * t_.step, s = task % s_.count * s_.step;
        const Tile tile{task / s_.count / t_.count, t, smaller(t_.step, p_.T - t), s,
                        smaller(s_.step, p_.S - s)};
        if (seen(tile)) write_tile(tile, buffers + slot * room, scores);
      }
    });
  }

 private:
  static constexpr int64_t kRows = 32;    // of queries and of keys in a tile
  static constexpr int64_t kWidth = 128;  // of D at a time

  struct Tile {
    int64_t b, t, queries, s, keys;
  };

  static int64_t whole_lanes(int64_t count) { return (count + kLanes<A> - 1) / kLanes<A> * kLanes<A>; }

  // `rows` in tiles of about one size.
  static Pieces even(int64_t rows) {
    const int64_t tiles = (rows + kRows - 1) / kRows;
    if (tiles == 0) return {0, 0};
    const int64_t step = ((rows + tiles - 1) / tiles + 3) / 4 * 4;
    return {smaller(step, rows), (rows + step - 1) / step};
  }

  const T* v() const { return static_cast<const T*>(p_.v); }

  bool seen(const Tile& tile) const {
    if (!p_.seen) return true;
    const int64_t* const strides = p_.mask_strides;
    const int64_t rows = strides[1] == 0 ? 1 : tile.queries;
    for (int64_t t = tile.t; t < tile.t + rows; ++t)
      for (int64_t s = tile.s; s < tile.s + tile.keys; ++s)
        if (p_.seen[tile.b * strides[0] + t * strides[1] + s * strides[2]]) return true;
    return false;
  }

  void write_tile(const Tile& tile, A* buffer, A* scores) const {
    A sums[kRows * kRows] = {};  // [queries, keys]
    A* const queries = buffer;
    A* const keys = buffer + t_.step * pitch_;
    for (int64_t d = 0; d < p_.D; d += kWidth) {
      const int64_t width = smaller(kWidth, p_.D - d);
      const T* const q = token<T>(p_.query, p_.query_strides, tile.b, tile.t) + d;
      const T* const k = token<T>(p_.key, p_.key_strides, tile.b, tile.s) + d;
      const bool small = fill<true>(q, p_.query_strides.row, tile.queries, width, queries) &&
                         fill<true>(k, p_.key_strides.row, tile.keys, width, keys);
      if (small) {
        add<true>(queries, keys, v_ + d, tile, width, sums);
      } else {
        fill<false>(q, p_.query_strides.row, tile.queries, width, queries);
        fill<false>(k, p_.key_strides.row, tile.keys, width, keys);
        add<false>(queries, keys, v_ + d, tile, width, sums);
      }
    }
    for (int64_t t = 0; t < tile.queries; ++t) {
      A* const to = scores + (tile.b * p_.T + tile.t + t) * p_.S + tile.s;
      for (int64_t s = 0; s < tile.keys; ++s) to[s] = sums[t * kRows + s];
    }
  }

  // to [rows, pitch_] from T: the numbers, or their factors; whether factors may be used.
  template <bool kFactors>
  bool fill(const T* from, int64_t stride, int64_t rows, int64_t width, A* to) const {
    Lanes<A> largest = {};
    for (int64_t i = 0; i < rows; ++i)
      for_lanes<A>(width, [&](int64_t d, auto part) {
        const Lanes<A> x = load(from + i * stride + d, part);
        largest = larger(largest, magnitude_of(x));
        store(to + i * pitch_ + d, kFactors ? tanh_factor(x) : x);
      });
    return largest_lane(largest) <= A(kLargestFactor);
  }

  // sums [queries, kRows] += v · tanh over `width`, which lanes beyond it leave alone: v is 0 there.
  template <bool kFactors>
  void add(const A* queries, const A* keys, const A* v, const Tile& tile, int64_t width, A* sums) const {
    Lanes<A> all = {};
    for (int64_t d = 0; d < width; d += kLanes<A>) all += load(v + d);
    const A sum_of_v = sum_of_lanes(all);
    for_blocks_of_four(tile.keys, [&](int64_t s, auto block) {
      for (int64_t t = 0; t < tile.queries; ++t) {
        Lanes<A> part[block.count] = {};
        for (int64_t d = 0; d < width; d += kLanes<A>) {
          const Lanes<A> query = load(queries + t * pitch_ + d), weight = load(v + d);
          for (int64_t i = 0; i < block.count; ++i) {
            const Lanes<A> key = load(keys + (s + i) * pitch_ + d);
            part[i] += weight * (kFactors ? complement_of_factors(query, key) : tanh_of(query + key));
          }
        }
        for (int64_t i = 0; i < block.count; ++i) {
          const A sum = sum_of_lanes(part[i]);
          sums[t * kRows + s + i] += kFactors ? sum_of_v - 2 * sum : sum;
        }
      }
    });
  }

  const AdditiveInputs& p_;
  CpuRuntime& run_;
  Pieces t_, s_;   // tiles of queries and of keys
  int64_t pitch_;  // of a row in a buffer
  A* v_ = nullptr;
};

// -inf in the scores [S] of query t where it may not look.
template <typename A>
GAZE_LANES void mask_scores(const AdditiveInputs& p, int64_t b, int64_t t, A* scores) {
  if (!p.seen) return;
  const bool* const seen = p.seen + b * p.mask_strides[0] + t * p.mask_strides[1];
  for (int64_t s = 0; s < p.S; ++s)
    if (!seen[s * p.mask_strides[2]]) scores[s] = -A(__builtin_inff());
}

}  // namespace
}  // namespace gaze::detail
