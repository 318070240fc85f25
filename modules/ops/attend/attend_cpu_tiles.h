// Blocks of four queries against tiles of keys, for attend's CPU kernels: products, biases, masks, dropout.
// Included by sources compiled per instruction set alone, see lanes.h.
#pragma once

#include "modules/ops/attend/attend_cpu_kernel.h"
#include "modules/ops/attend/attend_math.h"
#include "modules/ops/cpu/lanes.h"
#include "modules/ops/cpu/lanes_exp.h"

namespace gaze::detail {
namespace {  // NOLINT: one copy a build is the point

constexpr int64_t kQueries = 4;  // a block
constexpr int64_t kTile = 4096;  // keys, at most, whose scores are in a buffer: four rows of them stay in
                                 // the second-level cache
constexpr int64_t kRowsAhead =
    8;  // keys or values, fetched while these are used: a head's need not lie in a row
// Vectors of values that are summed together, as many as there are registers for the sums of a block.
#if defined(__AVX512F__)
constexpr int64_t kColumns = 4;
#else
constexpr int64_t kColumns = 1;
#endif
constexpr float kInfinity = __builtin_inff();

// A tensor [B, N, rows, width], and perhaps its rows turned, [B, N, width, pitch], so that lanes run over
// rows.
template <typename T, typename A>
struct TokenRows {
  const T* base;
  RowStrides strides;
  int64_t rows, width;
  A* turned = nullptr;

  const T* row(int64_t b, int64_t n, int64_t r) const {
    return base + b * strides.b + n * strides.n + r * strides.row;
  }
};

// Some of the queries of one head.
struct QueryBlock {
  int64_t b, n, t, count;  // queries t .. t + count - 1, at most kQueries
};
// Some of the keys.
struct KeyTile {
  int64_t first, count;
};

template <typename T, typename A>
class AttendTiles {
 public:
  explicit AttendTiles(const AttendCpu& p)
      : p_(p),
        pitch_((p.S + 2 * kLanes<A> - 1) / (2 * kLanes<A>)*2 * kLanes<A>),
        keys_{static_cast<const T*>(p.k), p.k_strides, p.S, p.D},
        values_{static_cast<const T*>(p.v), p.v_strides, p.S, p.V} {}

  // For few queries, turning the keys costs more than it saves.
  bool worth_turning() const { return p_.T >= 4 * kQueries; }
  void turn_keys(CpuRuntime& run) { turn(keys_, run); }
  void turn_values(CpuRuntime& run) { turn(values_, run); }

  const TokenRows<T, A>& keys() const { return keys_; }
  const TokenRows<T, A>& values() const { return values_; }

  // body(tile) for each tile of the keys that some query of the block sees; at least once.
  template <typename Body>
  void for_tiles(QueryBlock block, const Body& body) const {
    const int64_t seen = keys_seen(block);
    for (int64_t first = 0; first == 0 || first < seen; first += kTile)
      body(KeyTile{first, smaller(kTile, seen - first)});
  }
  bool fits_a_tile(QueryBlock block) const { return keys_seen(block) <= kTile; }
  int64_t tile_pitch() const { return smaller(kTile, pitch_); }  // of a buffer's row
  static int64_t padded(KeyTile tile) {
    return (tile.count + 2 * kLanes<A> - 1) / (2 * kLanes<A>)*2 * kLanes<A>;
  }

  // to [4, D]: the block's queries times the scale; rows behind the last repeat the first.
  void load_queries(QueryBlock block, A* to) const {
    const TokenRows<T, A> queries{static_cast<const T*>(p_.q), p_.q_strides, p_.T, p_.D};
    for (int64_t i = 0; i < kQueries; ++i) {
      const T* const q = queries.row(block.b, block.n, block.t + (i < block.count ? i : 0));
      for_lanes<A>(p_.D, [&](int64_t d, auto part) {
        store(to + i * p_.D + d, load(q + d, part) * static_cast<A>(p_.scale), part);
      });
    }
  }

  // to [4, tile_pitch()]: scores of the tile with biases, -inf where a query may not look and behind the last
  // key.
  void score(QueryBlock block, const A* queries, KeyTile tile, A* to) const {
    multiply(keys_, block, queries, tile, to);
    for (int64_t i = 0; i < block.count; ++i)
      mask(block.b, block.n, block.t + i, tile, to + i * tile_pitch());
  }

  // to [4, tile_pitch()] = left [4, width] · rows of the tile, transposed
  void multiply(const TokenRows<T, A>& rows, QueryBlock block, const A* left, KeyTile tile, A* to) const {
    if (rows.turned) {
      multiply_turned(rows.turned + (block.b * p_.N + block.n) * rows.width * pitch_ + tile.first, rows.width,
                      left, padded(tile), to);
      return;
    }
    int64_t s = 0;
    for (; s + 4 <= tile.count; s += 4) multiply_rows<4>(rows, block, left, tile, s, to);
    for (; s < tile.count; ++s) multiply_rows<1>(rows, block, left, tile, s, to);
  }

  // sums [4, width] += weights [4, tile_pitch()] · rows of the tile
  void add_weighted(const TokenRows<T, A>& rows, QueryBlock block, const A* weights, KeyTile tile,
                    A* sums) const {
    const T* const first = rows.row(block.b, block.n, tile.first);
    const int64_t pitch = tile_pitch();
    int64_t d = 0;
    const int64_t whole = kColumns * kLanes<A>;
    for (; d + whole <= rows.width; d += whole) {
      Lanes<A> of_query[kQueries][kColumns];
      for (int64_t i = 0; i < kQueries; ++i)
        for (int64_t c = 0; c < kColumns; ++c)
          of_query[i][c] = load(sums + i * rows.width + d + c * kLanes<A>);
      for (int64_t s = 0; s < tile.count; ++s) {
        const T* const row = first + s * rows.strides.row + d;
        for (int64_t c = 0; c < kColumns; ++c) {
          fetch(row + kRowsAhead * rows.strides.row + c * kLanes<A>);
          const Lanes<A> value = load(row + c * kLanes<A>);
          for (int64_t i = 0; i < kQueries; ++i) of_query[i][c] += value * weights[i * pitch + s];
        }
      }
      for (int64_t i = 0; i < kQueries; ++i)
        for (int64_t c = 0; c < kColumns; ++c)
          store(sums + i * rows.width + d + c * kLanes<A>, of_query[i][c]);
    }
    for_lanes<A>(rows.width - d, [&](int64_t rest, auto part) {
      const int64_t at = d + rest;
      Lanes<A> of_query[kQueries];
      for (int64_t i = 0; i < kQueries; ++i) of_query[i] = load(sums + i * rows.width + at, part);
      for (int64_t s = 0; s < tile.count; ++s) {
        const Lanes<A> value = load(first + s * rows.strides.row + at, part);
        for (int64_t i = 0; i < kQueries; ++i) of_query[i] += value * weights[i * pitch + s];
      }
      for (int64_t i = 0; i < kQueries; ++i) store(sums + i * rows.width + at, of_query[i], part);
    });
  }

  // to [count] = from · the dropout's factors of query t
  void drop(int64_t b, int64_t n, int64_t t, KeyTile tile, const A* from, A* to) const {
    const AttendRowKey key = attend_row_key(p_.seed, (b * p_.N + n) * p_.T + t);
    const uint32_t threshold = attend_dropout_threshold(p_.dropout);
    const A grown = static_cast<A>(1 / (1 - p_.dropout));
    for (int64_t s = 0; s < tile.count; ++s)
      to[s] = attend_draw<uint32_t>(key, static_cast<uint32_t>(tile.first + s)) < threshold ? A(0)
                                                                                            : from[s] * grown;
  }

 private:
  void turn(TokenRows<T, A>& rows, CpuRuntime& run) const {
    A* const turned = run.scratch<A>(p_.B * p_.N * rows.width * pitch_);
    rows.turned = turned;
    run.parallel(p_.B * p_.N, [&, turned](int64_t head) {
      A* const to = turned + head * rows.width * pitch_;
      for (int64_t s = 0; s < pitch_; ++s) {
        const bool beyond = s >= rows.rows;
        const T* const from = rows.row(head / p_.N, head % p_.N, beyond ? 0 : s);
        for_lanes<A>(rows.width, [&](int64_t d, auto part) {
          const Lanes<A> row = beyond ? Lanes<A>{} : load(from + d, part);
          for (int64_t i = 0; i < count_of<A>(part); ++i) to[(d + i) * pitch_ + s] = row[i];
        });
      }
    });
  }

  static void fetch(const T* place) { __builtin_prefetch(place, /*write=*/0, /*locality=*/3); }

  // to[i, s .. s + kRows - 1]: kRows rows of the tile from s on, so that their lanes are joined together.
  template <int64_t kRows>
  void multiply_rows(const TokenRows<T, A>& rows, QueryBlock block, const A* left, KeyTile tile, int64_t s,
                     A* to) const {
    const T* const first = rows.row(block.b, block.n, tile.first + s);
    for (int64_t i = 0; i < block.count; ++i) {
      Lanes<A> sums[kRows] = {};
      for_lanes<A>(rows.width, [&](int64_t d, auto part) {
        const Lanes<A> query = load(left + i * rows.width + d, part);
        for (int64_t r = 0; r < kRows; ++r) {
          if (i == 0) fetch(first + (r + kRowsAhead) * rows.strides.row + d);
          sums[r] += load(first + r * rows.strides.row + d, part) * query;
        }
      });
      A* const scores = to + i * tile_pitch() + s;
      if constexpr (kRows == 4) {
        sums_of_lanes(sums, scores);
      } else {
        scores[0] = sum_of_lanes(sums[0]);
      }
    }
  }

  void multiply_turned(const A* turned, int64_t width, const A* left, int64_t count, A* to) const {
    for (int64_t s = 0; s < count; s += 2 * kLanes<A>) {
      Lanes<A> sums[kQueries][2] = {};
      for (int64_t d = 0; d < width; ++d) {
        const Lanes<A> low = load(turned + d * pitch_ + s), high = load(turned + d * pitch_ + s + kLanes<A>);
        for (int64_t i = 0; i < kQueries; ++i) {
          sums[i][0] += low * left[i * width + d];
          sums[i][1] += high * left[i * width + d];
        }
      }
      for (int64_t i = 0; i < kQueries; ++i) {
        store(to + i * tile_pitch() + s, sums[i][0]);
        store(to + i * tile_pitch() + s + kLanes<A>, sums[i][1]);
      }
    }
  }

  int64_t keys_seen(QueryBlock block) const {
    if (!p_.causal) return p_.S;
    const int64_t last = attend_last_key(block.t + block.count - 1, p_.T, p_.S);
    return last < 0 ? 0 : last + 1;
  }

  void mask(int64_t b, int64_t n, int64_t t, KeyTile tile, A* scores) const {
    const A never = -A(kInfinity);
    add_biases(b, n, t, tile, scores);
    if (p_.mask) {
      const int64_t* const strides = p_.mask_strides;
      const bool* const may =
          p_.mask + b * strides[0] + n * strides[1] + t * strides[2] + tile.first * strides[3];
      for (int64_t s = 0; s < tile.count; ++s)
        if (!may[s * strides[3]]) scores[s] = never;
    }
    if (p_.key_mask) {
      const bool* const may = p_.key_mask + b * p_.key_mask_strides[0] + tile.first * p_.key_mask_strides[1];
      for (int64_t s = 0; s < tile.count; ++s)
        if (!may[s * p_.key_mask_strides[1]]) scores[s] = never;
    }
    int64_t seen = tile.count;
    if (p_.causal) seen = smaller(seen, attend_last_key(t, p_.T, p_.S) + 1 - tile.first);
    for (int64_t s = seen < 0 ? 0 : seen; s < padded(tile); ++s) scores[s] = never;
  }

  void add_biases(int64_t b, int64_t n, int64_t t, KeyTile tile, A* scores) const {
    if (p_.relative) {
      const A* const table = static_cast<const A*>(p_.relative) + n * p_.relative_head;
      const A factor = p_.relative_inside ? static_cast<A>(p_.scale) : A(1);
      for (int64_t s = 0; s < tile.count; ++s)
        scores[s] +=
            factor * table[attend_relative_entry(t, tile.first + s, p_.T, p_.S, p_.relative_entries)];
    }
    if (p_.row_bias) {
      const A* const rows = at(p_.row_bias, p_.row_bias_strides, b, n, t);
      const A* const columns = at(p_.column_bias, p_.column_bias_strides, b, n, t);
      int64_t y = tile.first / p_.grid_columns, x = tile.first % p_.grid_columns;
      for (int64_t s = 0; s < tile.count; ++s) {
        scores[s] += rows[y] + columns[x];
        if (++x == p_.grid_columns) x = 0, ++y;
      }
    }
    if (p_.bias) {
      const int64_t* const strides = p_.bias_strides;
      const A* const bias = static_cast<const A*>(p_.bias) + b * strides[0] + n * strides[1] +
                            t * strides[2] + tile.first * strides[3];
      for (int64_t s = 0; s < tile.count; ++s) scores[s] += bias[s * strides[3]];
    }
  }

  static const A* at(const void* base, const RowStrides& strides, int64_t b, int64_t n, int64_t t) {
    return static_cast<const A*>(base) + b * strides.b + n * strides.n + t * strides.row;
  }

  const AttendCpu& p_;
  int64_t pitch_;  // of a turned row: S in whole pairs of lanes
  TokenRows<T, A> keys_, values_;
};

// The queries of every head in pieces that tasks take, the same for any number of threads.
struct QueryPieces {
  int64_t heads, count, blocks, step;  // a head's pieces, its blocks, blocks of a piece

  QueryPieces(int64_t heads, int64_t queries, int64_t tasks) : heads(heads) {
    blocks = (queries + kQueries - 1) / kQueries;
    const int64_t wanted = heads >= tasks ? 1 : tasks / heads;
    step = (blocks + wanted - 1) / wanted;
    count = (blocks + step - 1) / step;
  }
  // body(t, count) for each block of piece `piece`.
  template <typename Body>
  void for_blocks(int64_t piece, int64_t queries, const Body& body) const {
    const int64_t end = smaller((piece + 1) * step, blocks);
    for (int64_t block = piece * step; block < end; ++block)
      body(block * kQueries, smaller(kQueries, queries - block * kQueries));
  }
};

}  // namespace
}  // namespace gaze::detail
