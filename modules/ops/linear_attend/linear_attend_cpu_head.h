// One head of linear_attend on the CPU, forward and backward. Included by sources compiled per instruction
// set alone, see lanes.h.
#pragma once

#include "modules/ops/linear_attend/linear_attend_cpu_kernel.h"
#include "modules/ops/linear_attend/linear_attend_cpu_state.h"

namespace gaze::detail {
namespace {  // NOLINT: one copy a build is the point

template <typename T, typename A>
class LinearAttendHead {
 public:
  // `memory` of room(p), of finite numbers.
  LinearAttendHead(const LinearAttendCpu& p, int64_t b, int64_t n, A* memory)
      : p_(p),
        b_(b),
        n_(n),
        M_(whole_lanes<A>(p.D)),
        P_(whole_lanes<A>(p.V + 1)),
        state_(p.map, p.D, p.V + 1, memory) {
    memory += state_.room(p.D, p.V + 1);
    features_ = memory;
    slopes_ = features_ + kChunk * M_;
    y_ = slopes_ + kChunk * M_;
    sums_ = y_ + kChunk * P_;
    shift_ = sums_ + kChunk * P_;
    inverse_ = shift_ + p.T;
    along_ = inverse_ + p.T;
  }

  static int64_t room(const LinearAttendCpu& p) {
    return LinearAttendState<T, A>::room(p.D, p.V + 1) +
           2 * kChunk * (whole_lanes<A>(p.D) + whole_lanes<A>(p.V + 1)) + 3 * p.T;
  }

  void forward() {
    T* const output = dense(p_.output, p_.T, p_.V);
    for_blind_queries([&](int64_t t) { store_zeros(output + t * p_.V, p_.V); });
    sweep_keys(false, [&](int64_t t0, int64_t first, int64_t rows, bool paired) {
      read_queries(t0, first, rows, paired);
      for (int64_t i = first; i < rows; ++i) {
        const A* const sums = sums_ + i * P_;
        const A below = sums[p_.V];
        if (below == A(0)) {
          store_zeros(output + (t0 + i) * p_.V, p_.V);
          continue;
        }
        for_lanes<A>(p_.V, [&](int64_t v, auto part) {
          store(output + (t0 + i) * p_.V + v, load(sums + v) / below, part);
        });
      }
    });
  }

  void backward() {
    T* const grad_q = dense(p_.grad_q, p_.T, p_.D);
    T* const grad_k = dense(p_.grad_k, p_.S, p_.D);
    T* const grad_v = dense(p_.grad_v, p_.S, p_.V);
    for_blind_queries([&](int64_t t) { store_zeros(grad_q + t * p_.D, p_.D); });
    sweep_keys(true, [&](int64_t t0, int64_t first, int64_t rows, bool paired) {
      read_queries(t0, first, rows, paired);
      for (int64_t i = first; i < rows; ++i) {
        share(t0 + i, sums_ + i * P_);
        fill_grad(t0 + i, y_ + i * P_);
      }
      state_.slopes_of(y_, first, rows, paired, slopes_);
      for (int64_t i = first; i < rows; ++i) store_slopes(row(p_.q, t0 + i), i, grad_q + (t0 + i) * p_.D);
    });
    sweep_queries([&](int64_t s0, int64_t rows, bool paired) {
      for (int64_t i = 0; i < rows; ++i) {
        const T* const key = seen_key(s0 - i);
        fill(features_ + i * M_, M_, A(0));
        fill(y_ + i * P_, P_, A(0));
        if (key == nullptr) continue;
        state_.read(key, 0, features_ + i * M_);
        fill_value(s0 - i, y_ + i * P_);
      }
      state_.sums_of(features_, 0, rows, paired, sums_);
      state_.slopes_of(y_, 0, rows, paired, slopes_);
      for (int64_t i = 0; i < rows; ++i) {
        const T* const key = seen_key(s0 - i);
        T *const of_key = grad_k + (s0 - i) * p_.D, *const of_value = grad_v + (s0 - i) * p_.V;
        if (key == nullptr) {
          store_zeros(of_key, p_.D);
          store_zeros(of_value, p_.V);
          continue;
        }
        store_slopes(key, i, of_key);
        for_lanes<A>(p_.V,
                     [&](int64_t v, auto part) { store(of_value + v, load(sums_ + i * P_ + v), part); });
      }
    });
  }

 private:
  // Streams `streams` tokens and has `readers` read, where causal each after the token of the same number +
  // lag: stream(first, end) returns how many tokens it took for a chunk, read(reader of row 0, first row,
  // rows, whether the chunk's own tokens are met pairwise).
  template <typename Stream, typename Read>
  void sweep(int64_t streams, int64_t readers, int64_t lag, bool backward, const Stream& stream,
             const Read& read) {
    state_.clear();
    const int64_t end = p_.causal ? readers + lag : streams;
    for (int64_t first = 0, count = 0; first < end; first += count) {
      const bool streaming = first < streams;
      count = streaming ? stream(first, smaller(end, streams)) : smaller(kChunk, end - first);
      const int64_t from = first < lag ? lag - first : 0;
      if (p_.causal && from < count) {
        if (streaming) state_.turn_chunk(count, backward);
        if (backward) state_.turn_sum();
        read(first - lag, from, count, streaming);
      }
      if (streaming) state_.add_chunk(count);
    }
    if (p_.causal) return;
    if (backward) state_.turn_sum();
    for (int64_t first = 0; first < readers; first += kChunk)
      read(first, 0, smaller(kChunk, readers - first), false);
  }

  // read(query of row 0, first row, rows, paired)
  template <typename Read>
  void sweep_keys(bool backward, const Read& read) {
    const auto stream = [&](int64_t first, int64_t end) {
      return state_.stream(
          first, end,
          [&](int64_t s) {
            return Token<T, A>{seen_key(s), 0};
          },
          [&](int64_t s, A* y) { fill_value(s, y); });
    };
    sweep(p_.S, p_.T, p_.lag, backward, stream, read);
  }

  // Last to first: read(key of row 0, rows, paired), rows going down.
  template <typename Read>
  void sweep_queries(const Read& read) {
    const int64_t last = p_.T - 1;
    const auto stream = [&](int64_t first, int64_t end) {
      return state_.stream(
          first, end,
          [&](int64_t i) {
            return Token<T, A>{row(p_.q, last - i), shift_[last - i]};
          },
          [&](int64_t i, A* y) { fill_grad(last - i, y); });
    };
    sweep(p_.T, p_.S, 0, true, stream,
          [&](int64_t first, int64_t, int64_t rows, bool paired) { read(p_.S - 1 - first, rows, paired); });
  }

  // Those that come before all keys.
  template <typename Call>
  void for_blind_queries(const Call& call) const {
    for (int64_t t = 0; p_.causal && t < smaller(p_.T, -p_.lag); ++t) call(t);
  }

  // features_, shift_ and sums_ of the queries of rows [first, rows), t0 that of row 0.
  void read_queries(int64_t t0, int64_t first, int64_t rows, bool paired) {
    for (int64_t i = first; i < rows; ++i) {
      const T* const query = row(p_.q, t0 + i);
      shift_[t0 + i] = state_.shift(query);
      state_.read(query, shift_[t0 + i], features_ + i * M_);
    }
    state_.sums_of(features_, first, rows, paired, sums_);
  }

  // inverse_ and along_ of query t, from its sums.
  void share(int64_t t, const A* sums) {
    const T* const grad = row(p_.grad_output, t);
    const A below = sums[p_.V], inverse = below == A(0) ? A(0) : A(1) / below;
    Lanes<A> dot = {};
    for_lanes<A>(p_.V,
                 [&](int64_t v, auto part) { dot += load(grad + v, part) * (load(sums + v) * inverse); });
    inverse_[t] = inverse;
    along_[t] = -sum_of_lanes(dot) * inverse;
  }

  // G of query t and [v, 1] of key s, to y [P].
  void fill_grad(int64_t t, A* y) const { fill_row(row(p_.grad_output, t), inverse_[t], along_[t], y); }
  void fill_value(int64_t s, A* y) const { fill_row(row(p_.v, s), A(1), A(1), y); }

  void fill_row(const T* x, A factor, A last, A* y) const {
    for (int64_t c = p_.V; c < P_; ++c) y[c] = 0;
    for_lanes<A>(p_.V, [&](int64_t v, auto part) { store(y + v, load(x + v, part) * factor); });
    y[p_.V] = last;
  }

  // The gradient of row i's x.
  void store_slopes(const T* x, int64_t i, T* to) const {
    for_lanes<A>(p_.D, [&](int64_t d, auto part) {
      const Lanes<A> features = load(features_ + i * M_ + d), slopes = load(slopes_ + i * M_ + d);
      store(to + d, linear_attend_slope(p_.map, load(x + d, part), features) * slopes, part);
    });
  }

  static void store_zeros(T* to, int64_t count) {
    for_lanes<A>(count, [&](int64_t i, auto part) { store(to + i, Lanes<A>{}, part); });
  }

  const T* row(const LinearAttendRows& x, int64_t row) const {
    return static_cast<const T*>(x.data) + b_ * x.b + n_ * x.n + row * x.row;
  }
  const T* seen_key(int64_t s) const {
    const bool masked = p_.mask && !p_.mask[b_ * p_.mask_b + s * p_.mask_s];
    return masked ? nullptr : row(p_.k, s);
  }
  T* dense(void* x, int64_t rows, int64_t width) const {
    return static_cast<T*>(x) + (b_ * p_.N + n_) * rows * width;
  }

  const LinearAttendCpu& p_;
  int64_t b_, n_;
  int64_t M_, P_;  // D and V + 1 in whole lanes
  LinearAttendState<T, A> state_;
  A *features_, *slopes_;         // [kChunk, M], of the readers, and the gradient of these
  A *y_, *sums_;                  // [kChunk, P], of the readers
  A *shift_, *inverse_, *along_;  // [T]
};

}  // namespace
}  // namespace gaze::detail
