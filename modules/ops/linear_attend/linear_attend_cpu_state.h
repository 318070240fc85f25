// What a head of linear_attend streams and reads on the CPU: a chunk of tokens, and the sum of φ(x) yᵀ over
// those before it. Included by sources compiled per instruction set alone, see lanes.h.
#pragma once

#include "modules/ops/cpu/lanes.h"
#include "modules/ops/cpu/lanes_exp.h"
#include "modules/ops/linear_attend/linear_attend_cpu_products.h"
#include "modules/ops/linear_attend/linear_attend_math.h"

namespace gaze::detail {
namespace {  // NOLINT: one copy a build is the point

constexpr int64_t kChunk = 64;  // tokens, in whole tiles and lanes

// A token of the streamed side: its row x, null where it is masked, and what its logits are diminished by.
template <typename T, typename A>
struct Token {
  const T* x;
  A shift;
};

template <typename T, typename A>
class LinearAttendState {
 public:
  // `features` D as they come, `columns` of y; memory of room(features, columns), of finite numbers.
  LinearAttendState(LinearAttendMap map, int64_t features, int64_t columns, A* memory)
      : map_(map), D_(features), M_(whole_lanes<A>(features)), P_(whole_lanes<A>(columns)) {
    const auto take = [&](int64_t count) {
      A* const taken = memory;
      memory += count;
      return taken;
    };
    sum_ = take(M_ * P_);
    turned_sum_ = take(M_ * P_);
    features_ = take(kChunk * M_);
    turned_features_ = take(kChunk * M_);
    y_ = take(kChunk * P_);
    turned_y_ = take(kChunk * P_);
    pairs_ = take(kChunk * kChunk);
    top_ = take(M_);
    seen_ = take(M_);
  }

  static int64_t room(int64_t features, int64_t columns) {
    const int64_t M = whole_lanes<A>(features), P = whole_lanes<A>(columns);
    return 2 * M * P + 2 * kChunk * (M + P) + kChunk * kChunk + 2 * M;
  }

  void clear() {
    fill(sum_, M_ * P_, A(0));
    fill(top_, M_, kNever);
    fill(seen_, M_, kNever);
  }

  // Streams tokens from `first` on, at most to `end`, as one chunk; returns how many. token_at(i) and
  // fill_y(i, y) say what they are.
  template <typename TokenAt, typename FillY>
  int64_t stream(int64_t first, int64_t end, const TokenAt& token_at, const FillY& fill_y) {
    const int64_t most = smaller(kChunk, end - first);
    if (map_ == LinearAttendMap::exp) raise(token_at(first));
    for (int64_t i = 0; i < most; ++i) {
      const Token<T, A> token = token_at(first + i);
      A* const features = features_ + i * M_;
      if (token.x == nullptr) {
        fill(features, M_, A(0));
        fill(y_ + i * P_, P_, A(0));
        continue;
      }
      if (map_ == LinearAttendMap::exp && !admit(token)) return i;
      for_lanes<A>(D_, [&](int64_t m, auto part) {
        const Lanes<A> x = map_ == LinearAttendMap::exp
                               ? logits(token, m, part) - finite(load(top_ + m)) - kHeadroom
                               : load(token.x + m, part);
        store(features + m, feature(x, part));
      });
      fill_y(first + i, y_ + i * P_);
    }
    return most;
  }

  // Before the chunk is looked at pairwise, and the state along its rows (in backward).
  void turn_chunk(int64_t tokens, bool both) {
    turn(features_, tokens, M_, turned_features_, kChunk);
    if (both) turn(y_, tokens, P_, turned_y_, kChunk);
  }
  void turn_sum() { turn(sum_, M_, P_, turned_sum_, M_); }

  // Joins the chunk to the state.
  void add_chunk(int64_t tokens) {
    add_product<Triangle::none>(Left<A>{features_, 1, M_}, 0, M_, tokens, y_, sum_, P_);
  }

  // What the logits of query x are to be diminished by when it reads.
  A shift(const T* x) const {
    if (map_ != LinearAttendMap::exp) return 0;
    Lanes<A> top = all_lanes(kNever);
    for_lanes<A>(D_, [&](int64_t m, auto part) {
      top = larger(top, outside(load(x + m, part) + load(top_ + m), kNever, part));
    });
    const A largest = largest_lane(top);
    return largest == kNever ? A(0) : largest + kHeadroom;
  }

  // features [M] of a token that reads.
  void read(const T* x, A shift, A* features) const {
    for_lanes<A>(D_, [&](int64_t m, auto part) {
      Lanes<A> logit = load(x + m, part);
      if (map_ == LinearAttendMap::exp) {
        const Lanes<A> top = load(top_ + m);
        logit = top == kNever ? top : logit + top - shift;
      }
      store(features + m, feature(logit, part));
    });
  }

  // sums [rows, P] of readers with `features` [rows, M]: Σ (φ(reader)·φ(x)) y over the state and, where
  // `paired`, over the chunk's tokens up to the reader's own row. Rows from `first` on.
  void sums_of(const A* features, int64_t first, int64_t rows, bool paired, A* sums) {
    look(features, M_, first, rows, sum_, turned_features_, y_, P_, paired, sums);
  }

  // slopes [rows, M] of readers with `y` [rows, P]: Σ (y·y_x) φ(x) over the same tokens.
  void slopes_of(const A* y, int64_t first, int64_t rows, bool paired, A* slopes) {
    look(y, P_, first, rows, turned_sum_, turned_y_, features_, M_, paired, slopes);
  }

 private:
  static constexpr A kNever = -A(__builtin_inff());
  static constexpr A kHeadroom = static_cast<A>(kLinearAttendHeadroom);

  static Lanes<A> finite(Lanes<A> top) { return top == kNever ? Lanes<A>{} : top; }

  template <typename Count>
  static Lanes<A> logits(const Token<T, A>& token, int64_t m, Count part) {
    return outside(load(token.x + m, part) - token.shift, kNever, part);
  }

  template <typename Count>
  Lanes<A> feature(Lanes<A> x, Count part) const {
    if (map_ == LinearAttendMap::exp) return outside(exp_of_negative(x), A(0), part);
    if (map_ == LinearAttendMap::relu) return outside(linear_attend_relu(x), A(0), part);
    const Lanes<A> below = x > Lanes<A>{} ? Lanes<A>{} : x;
    return outside(linear_attend_elu_plus_one(x, exp_of_negative(below)), A(0), part);
  }

  // top_ to what was seen and a chunk's first token, the state with it.
  void raise(const Token<T, A>& token) {
    for_lanes<A>(D_, [&](int64_t m, auto part) {
      const Lanes<A> before = load(top_ + m), seen = load(seen_ + m);
      const Lanes<A> top = token.x ? larger(seen, logits(token, m, part)) : seen;
      const Lanes<A> factors = exp_of_negative(before - finite(top));
      for (int64_t i = 0; i < count_of<A>(part); ++i) {
        if (!(top[i] > before[i])) continue;
        A* const row = sum_ + (m + i) * P_;
        for_lanes<A>(P_, [&](int64_t c, auto) { store(row + c, load(row + c) * factors[i]); });
      }
      store(top_ + m, top);
    });
  }

  // Whether the token is below the headroom; then it is seen.
  bool admit(const Token<T, A>& token) {
    Lanes<A> above = all_lanes(kNever);
    for_lanes<A>(
        D_, [&](int64_t m, auto part) { above = larger(above, logits(token, m, part) - load(top_ + m)); });
    if (largest_lane(above) > kHeadroom) return false;
    for_lanes<A>(
        D_, [&](int64_t m, auto part) { store(seen_ + m, larger(load(seen_ + m), logits(token, m, part))); });
    return true;
  }

  // out [rows, pitch] = x · sum + (the lower triangle of x · left) · right, left being turned.
  void look(const A* x, int64_t depth, int64_t first, int64_t rows, const A* sum, const A* left,
            const A* right, int64_t pitch, bool paired, A* out) {
    fill(out, kChunk * pitch, A(0));
    add_product<Triangle::none>(Left<A>{x, depth, 1}, first, rows, depth, sum, out, pitch);
    if (!paired) return;
    fill(pairs_, kChunk * kChunk, A(0));
    add_product<Triangle::of_result>(Left<A>{x, depth, 1}, first, rows, depth, left, pairs_, kChunk);
    add_product<Triangle::of_left>(Left<A>{pairs_, kChunk, 1}, first, rows, 0, right, out, pitch);
  }

  LinearAttendMap map_;
  int64_t D_, M_, P_;               // features as they come; and, in whole lanes, features and columns of y
  A *sum_, *turned_sum_;            // [M, P] and [P, M], the state
  A *features_, *turned_features_;  // [kChunk, M] and [M, kChunk], of the chunk
  A *y_, *turned_y_;                // [kChunk, P] and [P, kChunk]
  A* pairs_;                        // [kChunk, kChunk]
  A *top_, *seen_;                  // [M], of the state's divisor and of all tokens streamed
};

}  // namespace
}  // namespace gaze::detail
