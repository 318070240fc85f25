// What squeeze_excite's CPU kernel sums up over cells. Included by sources compiled per instruction set
// alone, see lanes.h.
#pragma once

#include "modules/ops/cpu/lanes.h"

namespace gaze::detail {
namespace {  // NOLINT: one copy a build is the point

// One number a channel each; null where it is not wanted.
template <typename A>
struct ChannelSums {
  A* x = nullptr;                 // sum of x
  A* largest = nullptr;           // maximum of x
  LaneIndex<A>* where = nullptr;  // its first cell; with largest
  A* product = nullptr;           // sum of x · grad

  ChannelSums at(int64_t offset) const {
    return {x + offset, largest ? largest + offset : nullptr, where ? where + offset : nullptr,
            product ? product + offset : nullptr};
  }
};

constexpr int64_t kPage = 4096;
constexpr int64_t kRowsAtOnce = 4;

// Four rows at once, which spares traffic with the sums. Only rows of a page or more: below that, the
// hardware reads ahead better when one row follows the other.
template <typename T, typename A>
void add_rows(const T* x, int64_t C, const ChannelSums<A>& sums) {
  for_lanes<A>(C, [&](int64_t c, auto part) {
    Lanes<A> v[kRowsAtOnce];
    for (int64_t k = 0; k < kRowsAtOnce; ++k) v[k] = load(x + k * C + c, part);
    store(sums.x + c, load(sums.x + c, part) + ((v[0] + v[1]) + (v[2] + v[3])), part);
    if (!sums.largest) return;
    const Lanes<A> top = larger(larger(v[0], v[1]), larger(v[2], v[3]));
    store(sums.largest + c, larger(load(sums.largest + c, part), top), part);
  });
}

// x and grad [cells, C], of which the first is cell `first` of its picture.
template <typename T, typename A>
void sum_cells(const T* x, const T* grad, int64_t cells, int64_t C, int64_t first,
               const ChannelSums<A>& sums) {
  for_lanes<A>(C, [&](int64_t c, auto part) {
    store(sums.x + c, Lanes<A>{}, part);
    if (sums.largest) store(sums.largest + c, all_lanes(-A(__builtin_inff())), part);
    if (sums.where) store_indices(sums.where + c, all_lanes_index<A>(first), part);
    if (sums.product) store(sums.product + c, Lanes<A>{}, part);
  });
  int64_t cell = 0;
  if (C * static_cast<int64_t>(sizeof(T)) >= kPage && !sums.where && !sums.product)
    for (; cell + kRowsAtOnce <= cells; cell += kRowsAtOnce) add_rows(x + cell * C, C, sums);
  for (; cell < cells; ++cell) {
    for_lanes<A>(C, [&](int64_t c, auto part) {
      const Lanes<A> v = load(x + cell * C + c, part);
      store(sums.x + c, load(sums.x + c, part) + v, part);
      if (sums.product) {
        const Lanes<A> product = v * load(grad + cell * C + c, part);
        store(sums.product + c, load(sums.product + c, part) + product, part);
      }
      if (!sums.largest) return;
      Lanes<A> top = load(sums.largest + c, part);
      if (sums.where) {
        auto where = load_indices(sums.where + c, part);
        keep_larger(top, where, v, all_lanes_index<A>(first + cell));
        store_indices(sums.where + c, where, part);
      }
      store(sums.largest + c, larger(top, v), part);
    });
  }
}

// One channel, x and grad [cells], into the first number of each sum. Sums are closed every 4096 cells.
template <typename T, typename A>
void sum_plane(const T* x, const T* grad, int64_t cells, const ChannelSums<A>& sums) {
  constexpr int64_t kBlock = 4096;
  A sum = 0, product = 0;
  Lanes<A> top = all_lanes(-A(__builtin_inff()));
  LaneIndices<A> where = {};
  for (int64_t begin = 0; begin < cells; begin += kBlock) {
    Lanes<A> block = {}, products = {};
    for_lanes<A>(smaller(kBlock, cells - begin), [&](int64_t i, auto part) {
      const Lanes<A> v = load(x + begin + i, part);
      block += v;
      if (sums.product) products += v * load(grad + begin + i, part);
      if (!sums.largest) return;
      const Lanes<A> candidates = outside(v, -A(__builtin_inff()), part);
      keep_larger(top, where, candidates, count_lanes<A>() + all_lanes_index<A>(begin + i));
    });
    sum += sum_of_lanes(block);
    product += sum_of_lanes(products);
  }
  *sums.x = sum;
  if (sums.product) *sums.product = product;
  if (!sums.largest) return;
  *sums.largest = largest_lane(top);
  if (sums.where) *sums.where = static_cast<LaneIndex<A>>(first_place(top, where, *sums.largest));
}

constexpr int64_t kPiecesAtOnce = 64;

// `count` pieces of one picture, C numbers apart, joined in their order into the first.
template <typename A>
void join_pieces(const ChannelSums<A>& sums, int64_t C, int64_t count) {
  for_lanes<A>(C, [&](int64_t c, auto part) {
    const auto total = [&](A* pieces) {
      Lanes<A> sum = {};
      for (int64_t first = 0; first < count; first += kPiecesAtOnce) {
        Lanes<A> block = {};
        for (int64_t piece = first; piece < smaller(first + kPiecesAtOnce, count); ++piece)
          block += load(pieces + piece * C + c, part);
        sum += block;
      }
      store(pieces + c, sum, part);
    };
    total(sums.x);
    if (sums.product) total(sums.product);
    if (!sums.largest) return;
    Lanes<A> top = load(sums.largest + c, part);
    if (!sums.where) {
      for (int64_t piece = 1; piece < count; ++piece)
        top = larger(top, load(sums.largest + piece * C + c, part));
    } else {
      auto where = load_indices(sums.where + c, part);
      for (int64_t piece = 1; piece < count; ++piece)
        keep_larger(top, where, load(sums.largest + piece * C + c, part),
                    load_indices(sums.where + piece * C + c, part));
      store_indices(sums.where + c, where, part);
    }
    store(sums.largest + c, top, part);
  });
}

}  // namespace
}  // namespace gaze::detail
