// Backward of additive_attend on the CPU, compiled once per instruction set. One buffer [B, T, S] holds the
// scores, then the weights, then the gradient of the scores; gradients of query, key and v come from a column
// of D at a time, so that each number of them is one task's and no bit depends on the number of threads.
#include "modules/ops/additive_attend/additive_attend_cpu_kernel.h"
#include "modules/ops/additive_attend/additive_attend_cpu_scores.h"

namespace gaze::detail {
namespace {

constexpr int64_t kColumns = 4;  // lanes of D in a task

template <typename T, typename A>
class AdditiveAttendBackward {
 public:
  AdditiveAttendBackward(const AdditiveInputs& p, const AdditiveGradients& gradients, CpuRuntime& run)
      : p_(p), grad_(gradients), run_(run), pairs_(run.scratch<A>(p.B * p.T * p.S)) {}

  void backward() {
    AdditiveScores<T, A>(p_, run_).write(pairs_);
    run_.parallel(p_.B * p_.T, [&](int64_t row) { to_weights(row / p_.T, row % p_.T); });
    if (grad_.context) sum_gradient_of_values();
    to_gradient_of_scores();
    sum_gradients_of_columns();
  }

 private:
  A* pairs(int64_t b, int64_t t) const { return pairs_ + (b * p_.T + t) * p_.S; }
  const T* context_gradient(int64_t b, int64_t t) const {
    return static_cast<const T*>(grad_.context) + (b * p_.T + t) * p_.V;
  }

  void to_weights(int64_t b, int64_t t) const {
    A* const row = pairs(b, t);
    mask_scores(p_, b, t, row);
    A log_sum_exp = static_cast<const A*>(grad_.log_sum_exp)[b * p_.T + t];
    if (log_sum_exp == -A(__builtin_inff())) log_sum_exp = 0;
    Lanes<A> sums = {};
    for_lanes<A>(p_.S, [&](int64_t s, auto part) {
      // What was the largest score may come out a rounding above the log-sum-exp.
      const Lanes<A> below = load(row + s, part) - log_sum_exp;
      store(row + s, exp_of_negative(below > 0 ? Lanes<A>{} : below), part);
      sums += load(row + s, part);
    });
    // The log-sum-exp was rounded, and with it the sum of the weights, 1: its error would reach every
    // gradient.
    const A sum = sum_of_lanes(sums), share = sum == A(0) ? A(1) : A(1) / sum;
    for_lanes<A>(p_.S, [&](int64_t s, auto part) { store(row + s, load(row + s, part) * share, part); });
  }

  // of_values [S, V] = weightsᵀ [S, T] · gradient of the context [T, V]
  void sum_gradient_of_values() const {
    const int64_t step = 4, blocks = (p_.S + step - 1) / step;
    run_.parallel(p_.B * blocks, [&](int64_t task) {
      const int64_t b = task / blocks, first = task % blocks * step;
      for_blocks_of_four(smaller(step, p_.S - first), [&](int64_t i, auto block) {
        const int64_t s = first + i;
        T* const to = static_cast<T*>(grad_.of_values) + (b * p_.S + s) * p_.V;
        for_lanes<A>(p_.V, [&](int64_t v, auto part) {
          Lanes<A> sums[block.count] = {};
          for (int64_t t = 0; t < p_.T; ++t) {
            const Lanes<A> gradient = load(context_gradient(b, t) + v, part);
            for (int64_t j = 0; j < block.count; ++j) sums[j] += gradient * pairs(b, t)[s + j];
          }
          for (int64_t j = 0; j < block.count; ++j) store(to + j * p_.V + v, sums[j], part);
        });
      });
    });
  }

  // P to P ⊙ (dP − rowsum(dP ⊙ P)), dP = gradient of the context · valuesᵀ + gradient of the weights
  void to_gradient_of_scores() {
    const int64_t rows = 4, blocks = (p_.T + rows - 1) / rows, tasks = p_.B * blocks;
    const int64_t slots = smaller(tasks, kSlots), room = rows * p_.S;
    A* const buffers = run_.scratch<A>(slots * room);
    run_.parallel(slots, [&](int64_t slot) {
      A* const gradients = buffers + slot * room;  // dP [queries, S]
      for (int64_t task = slot; task < tasks; task += slots) {
        const int64_t b = task / blocks, first = task % blocks * rows;
        for_blocks_of_four(smaller(rows, p_.T - first), [&](int64_t i, auto block) {
          const int64_t t = first + i;
          for (int64_t s = 0; s < p_.S; ++s) dot_values(b, t, s, block, gradients);
          for (int64_t j = 0; j < block.count; ++j) softmax_gradient(b, t + j, gradients + j * p_.S);
        });
      }
    });
  }

  template <typename Queries>
  void dot_values(int64_t b, int64_t t, int64_t s, Queries, A* to) const {
    Lanes<A> sums[Queries::count] = {};
    if (grad_.context) {
      const T* const value = token<T>(p_.values, p_.values_strides, b, s);
      for_lanes<A>(p_.V, [&](int64_t v, auto part) {
        const Lanes<A> lanes = load(value + v, part);
        for (int64_t i = 0; i < Queries::count; ++i)
          sums[i] += lanes * load(context_gradient(b, t + i) + v, part);
      });
    }
    for (int64_t i = 0; i < Queries::count; ++i) to[i * p_.S + s] = sum_of_lanes(sums[i]);
  }

  void softmax_gradient(int64_t b, int64_t t, A* gradients) const {
    A* const weights = pairs(b, t);
    const A* const given =
        grad_.weights ? static_cast<const A*>(grad_.weights) + (b * p_.T + t) * p_.S : nullptr;
    Lanes<A> sums = {};
    for_lanes<A>(p_.S, [&](int64_t s, auto part) {
      Lanes<A> gradient = load(gradients + s, part);
      if (given) gradient += load(given + s, part);
      store(gradients + s, gradient, part);
      sums += gradient * load(weights + s, part);
    });
    const A row = sum_of_lanes(sums);
    for_lanes<A>(p_.S, [&](int64_t s, auto part) {
      store(weights + s, load(weights + s, part) * (load(gradients + s, part) - row), part);
    });
  }

  // With dE the gradient of the scores and r = (1 − tanh) / 2:  of query + key  dE · v · 4 (r − r²),
  // of v  −2 · sum of dE · r, since dE sums to 0 over the keys of a query.
  void sum_gradients_of_columns() {
    const int64_t width = kColumns * kLanes<A>, groups = (p_.D + width - 1) / width, tasks = p_.B * groups;
    const int64_t slots = smaller(tasks, kSlots), room = 2 * p_.T * width;
    A* const buffers = run_.scratch<A>(slots * room);
    of_v_ = run_.scratch<A>(p_.B * p_.D);
    run_.parallel(slots, [&](int64_t slot) {
      for (int64_t task = tasks * slot / slots; task < tasks * (slot + 1) / slots; ++task)
        sum_group(task / groups, task % groups * width, buffers + slot * room);
    });
    for (int64_t d = 0; d < p_.D; ++d) {
      A sum = 0;
      for (int64_t b = 0; b < p_.B; ++b) sum += of_v_[b * p_.D + d];
      store_one(static_cast<T*>(grad_.of_v) + d, sum);
    }
  }

  void sum_group(int64_t b, int64_t first, A* buffer) const {
    const int64_t width = smaller(kColumns * kLanes<A>, p_.D - first);
    A* const factors = buffer;                                 // [columns, T, lanes]
    A* const of_query = buffer + kColumns * p_.T * kLanes<A>;  // [columns, T, lanes]
    Lanes<A> largest = {};
    for_lanes<A>(width, [&](int64_t d, auto part) {
      for (int64_t t = 0; t < p_.T; ++t) {
        const Lanes<A> query = load(token<T>(p_.query, p_.query_strides, b, t) + first + d, part);
        largest = larger(largest, magnitude_of(query));
        store(factors + d * p_.T + t * kLanes<A>, tanh_factor(query));
        store(of_query + d * p_.T + t * kLanes<A>, Lanes<A>{});
      }
    });
    const bool small = largest_lane(largest) <= A(kLargestFactor);
    Lanes<A> of_v[kColumns] = {};
    for_blocks_of_four(p_.S, [&](int64_t s, auto block) {
      for_lanes<A>(width, [&](int64_t d, auto part) {
        of_v[d / kLanes<A>] +=
            sum_keys(b, s, first + d, small, factors + d * p_.T, of_query + d * p_.T, block, part);
      });
    });
    for_lanes<A>(width, [&](int64_t d, auto part) {
      const Lanes<A> scale = load(static_cast<const T*>(p_.v) + first + d, part) * A(4);
      for (int64_t t = 0; t < p_.T; ++t) {
        T* const to = static_cast<T*>(grad_.of_query) + (b * p_.T + t) * p_.D + first + d;
        store(to, scale * load(of_query + d * p_.T + t * kLanes<A>), part);
      }
      store(of_v_ + b * p_.D + first + d, of_v[d / kLanes<A>] * A(-2), part);
    });
  }

  // One lane of D, a block of keys, all queries; returns the sum of dE · r.
  template <typename Keys, typename Count>
  Lanes<A> sum_keys(int64_t b, int64_t s, int64_t d, bool small_queries, const A* factors, A* of_query, Keys,
                    Count part) const {
    Lanes<A> keys[Keys::count], of_keys[Keys::count] = {}, largest = {}, of_v = {};
    for (int64_t i = 0; i < Keys::count; ++i) {
      keys[i] = load(token<T>(p_.key, p_.key_strides, b, s + i) + d, part);
      largest = larger(largest, magnitude_of(keys[i]));
    }
    const auto add = [&](int64_t t, const auto& complement) __attribute__((always_inline)) {
      const A* const gradients = pairs(b, t) + s;
      Lanes<A> sum = load(of_query + t * kLanes<A>);
      for (int64_t i = 0; i < Keys::count; ++i) {
        const Lanes<A> r = complement(keys[i]), slope = r - r * r;
        sum += slope * gradients[i];
        of_keys[i] += slope * gradients[i];
        of_v += r * gradients[i];
      }
      store(of_query + t * kLanes<A>, sum);
    };
    if (small_queries && largest_lane(largest) <= A(kLargestFactor)) {
      for (int64_t i = 0; i < Keys::count; ++i) keys[i] = tanh_factor(keys[i]);
      for (int64_t t = 0; t < p_.T; ++t) {
        const Lanes<A> query = load(factors + t * kLanes<A>);
        add(
            t, [&](Lanes<A> key)
                   __attribute__((always_inline)) { return complement_of_factors(query, key); });
      }
    } else {
      for (int64_t t = 0; t < p_.T; ++t) {
        const Lanes<A> query = load(token<T>(p_.query, p_.query_strides, b, t) + d, part);
        add(
            t, [&](Lanes<A> key)
                   __attribute__((always_inline)) { return (A(1) - tanh_of(query + key)) * A(0.5); });
      }
    }
    const Lanes<A> scale = load(static_cast<const T*>(p_.v) + d, part) * A(4);
    for (int64_t i = 0; i < Keys::count; ++i)
      store(static_cast<T*>(grad_.of_key) + (b * p_.S + s + i) * p_.D + d, scale * of_keys[i], part);
    return of_v;
  }

  const AdditiveInputs& p_;
  const AdditiveGradients& grad_;
  CpuRuntime& run_;
  A* pairs_;
  A* of_v_ = nullptr;  // [B, D]
};

}  // namespace

void GAZE_CPU_NAME(additive_attend_backward)(const AdditiveInputs& p, const AdditiveGradients& gradients,
                                             CpuRuntime& run) {
  for_type(p.type, [&](auto number) {
    using T = decltype(number);
    AdditiveAttendBackward<T, typename Accumulator<T>::type>(p, gradients, run).backward();
  });
}

}  // namespace gaze::detail
