// additive_attend on the CPU, compiled once per instruction set: scores are written where the weights will
// be, then each query's row is made its softmax and meets the values. No bit depends on the number of
// threads.
#include "modules/ops/additive_attend/additive_attend_cpu_kernel.h"

#include "modules/ops/additive_attend/additive_attend_cpu_scores.h"

namespace gaze::detail {
namespace {

constexpr int64_t kQueries = 4;

template <typename T, typename A>
class AdditiveAttend {
 public:
  AdditiveAttend(const AdditiveInputs& p, const AdditiveOutputs& out, CpuRuntime& run)
      : p_(p), out_(out), run_(run) {}

  void forward() {
    AdditiveScores<T, A>(p_, run_).write(weights(0, 0));
    const int64_t blocks = (p_.T + kQueries - 1) / kQueries;
    run_.parallel(p_.B * blocks, [&](int64_t task) {
      const int64_t b = task / blocks, t = task % blocks * kQueries, rows = smaller(kQueries, p_.T - t);
      for (int64_t i = 0; i < rows; ++i) {
        mask_scores(p_, b, t + i, weights(b, t + i));
        static_cast<A*>(out_.log_sum_exp)[b * p_.T + t + i] = softmax(weights(b, t + i));
      }
      for_blocks_of_four(rows, [&](int64_t i, auto block) { sum_values(b, t + i, block); });
    });
  }

 private:
  A* weights(int64_t b, int64_t t) const { return static_cast<A*>(out_.weights) + (b * p_.T + t) * p_.S; }

  // scores [S] to weights; returns the log-sum-exp. A row without a key gives zeros and -inf.
  A softmax(A* scores) const {
    const A never = -A(__builtin_inff());
    Lanes<A> top = all_lanes(never);
    for_lanes<A>(
        p_.S, [&](int64_t s, auto part) { top = larger(top, outside(load(scores + s, part), never, part)); });
    A largest = largest_lane(top);
    if (largest == never) largest = 0;
    Lanes<A> sums = {};
    for_lanes<A>(p_.S, [&](int64_t s, auto part) {
      const Lanes<A> power = exp_of_negative(outside(load(scores + s, part), never, part) - largest);
      store(scores + s, power, part);
      sums += power;
    });
    const A sum = sum_of_lanes(sums), share = sum == A(0) ? A(1) : A(1) / sum;
    for_lanes<A>(p_.S,
                 [&](int64_t s, auto part) { store(scores + s, load(scores + s, part) * share, part); });
    return static_cast<A>(::log(static_cast<double>(sum)) + static_cast<double>(largest));
  }

  // context [queries, V] = weights [queries, S] · values [S, V], two lanes of V at a time
  template <typename Queries>
  void sum_values(int64_t b, int64_t t, Queries) const {
    int64_t v = 0;
    for (; v + 2 * kLanes<A> <= p_.V; v += 2 * kLanes<A>) sum_columns<2>(b, t, v, Queries(), Whole());
    for_lanes<A>(p_.V - v, [&](int64_t i, auto part) { sum_columns<1>(b, t, v + i, Queries(), part); });
  }

  template <int64_t kColumns, typename Queries, typename Count>
  void sum_columns(int64_t b, int64_t t, int64_t v, Queries, Count part) const {
    const T* const values = token<T>(p_.values, p_.values_strides, b, 0) + v;
    const A* const rows = weights(b, t);
    Lanes<A> sums[Queries::count][kColumns] = {};
    for (int64_t s = 0; s < p_.S; ++s)
      for (int64_t column = 0; column < kColumns; ++column) {
        const Lanes<A> value = load(values + s * p_.values_strides.row + column * kLanes<A>, part);
        for (int64_t i = 0; i < Queries::count; ++i) sums[i][column] += value * rows[i * p_.S + s];
      }
    T* const to = static_cast<T*>(out_.context) + (b * p_.T + t) * p_.V + v;
    for (int64_t i = 0; i < Queries::count; ++i)
      for (int64_t column = 0; column < kColumns; ++column)
        store(to + i * p_.V + column * kLanes<A>, sums[i][column], part);
  }

  const AdditiveInputs& p_;
  const AdditiveOutputs& out_;
  CpuRuntime& run_;
};

}  // namespace

void GAZE_CPU_NAME(additive_attend_forward)(const AdditiveInputs& p, const AdditiveOutputs& out,
                                            CpuRuntime& run) {
  for_type(p.type, [&](auto number) {
    using T = decltype(number);
    AdditiveAttend<T, typename Accumulator<T>::type>(p, out, run).forward();
  });
}

}  // namespace gaze::detail
