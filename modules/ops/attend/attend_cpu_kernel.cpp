// attend on the CPU, compiled once per instruction set: four queries of a head at a time, whole rows of
// scores in a buffer that stays in the cache. Each query's result is one task's, so no bit depends on the
// number of threads.
#include "modules/ops/attend/attend_cpu_kernel.h"

#include "modules/ops/attend/attend_math.h"
#include "modules/ops/cpu/lanes.h"
#include "modules/ops/cpu/lanes_exp.h"

namespace gaze::detail {
namespace {

constexpr int64_t kQueries = 4;
constexpr int64_t kSlots = 64;  // buffers, whatever the number of threads

template <typename T, typename A>
class Attend {
 public:
  Attend(const AttendCpu& p, CpuRuntime& run)
      : p_(p), run_(run), pitch_((p.S + 2 * kLanes<A> - 1) / (2 * kLanes<A>)*2 * kLanes<A>) {}

  void forward() {
    const bool turn = p_.T >= kQueries;  // for fewer queries, turning the keys costs more than it saves
    if (turn) turn_keys();
    const int64_t blocks = (p_.T + kQueries - 1) / kQueries;
    const int64_t heads = p_.mean_weights ? 1 : p_.N;  // a task sums over heads where their mean is wanted
    const int64_t tasks = p_.B * heads * blocks, slots = smaller(tasks, kSlots);
    const int64_t room = kQueries * (pitch_ + p_.D);
    A* const buffers = run_.scratch<A>(slots * room);
    run_.parallel(slots, [&](int64_t slot) {
      for (int64_t task = slot; task < tasks; task += slots) {
        const int64_t t = task % blocks * kQueries, b = task / blocks / heads;
        const int64_t rows = smaller(kQueries, p_.T - t), first = p_.mean_weights ? 0 : task / blocks % heads;
        for (int64_t n = first; n < (p_.mean_weights ? p_.N : first + 1); ++n)
          attend(b, n, t, rows, buffers + slot * room);
      }
    });
  }

 private:
  // keys_ [B, N, D, pitch_] from k, so that lanes run over keys.
  void turn_keys() {
    keys_ = run_.scratch<A>(p_.B * p_.N * p_.D * pitch_);
    run_.parallel(p_.B * p_.N, [&](int64_t head) {
      A* const to = keys_ + head * p_.D * pitch_;
      const T* const from = row(p_.k, p_.k_strides, head / p_.N, head % p_.N, 0);
      for (int64_t s = 0; s < pitch_; ++s) {
        const bool beyond = s >= p_.S;
        for_lanes<A>(p_.D, [&](int64_t d, auto part) {
          const Lanes<A> key = beyond ? Lanes<A>{} : load(from + s * p_.k_strides.row + d, part);
          for (int64_t i = 0; i < count_of<A>(part); ++i) to[(d + i) * pitch_ + s] = key[i];
        });
      }
    });
  }

  static const T* row(const void* base, const RowStrides& strides, int64_t b, int64_t n, int64_t row) {
    return static_cast<const T*>(base) + b * strides.b + n * strides.n + row * strides.row;
  }

  void attend(int64_t b, int64_t n, int64_t t, int64_t rows, A* buffer) const {
    A* const scores = buffer;
    A* const queries = buffer + kQueries * pitch_;
    for (int64_t i = 0; i < kQueries; ++i) {
      const T* const q = row(p_.q, p_.q_strides, b, n, t + (i < rows ? i : 0));
      for (int64_t d = 0; d < p_.D; ++d) queries[i * p_.D + d] = load_one(q + d) * static_cast<A>(p_.scale);
    }
    if (keys_) {
      score(queries, keys_ + (b * p_.N + n) * p_.D * pitch_, scores);
    } else {
      score_few(queries, b, n, rows, scores);
    }
    for (int64_t i = 0; i < rows; ++i) {
      A* const of_query = scores + i * pitch_;
      mask(b, n, t + i, of_query);
      const int64_t at = (b * p_.N + n) * p_.T + t + i;
      static_cast<A*>(p_.log_sum_exp)[at] = softmax(of_query);
      if (p_.weights) copy_row(of_query, static_cast<A*>(p_.weights) + at * p_.S);
      if (p_.mean_weights) add_row(of_query, n, static_cast<A*>(p_.mean_weights) + (b * p_.T + t + i) * p_.S);
    }
    sum_values(scores, b, n, t, rows);
  }

  // scores [4, pitch_] = queries [4, D] · keys [D, pitch_]
  void score(const A* queries, const A* keys, A* scores) const {
    for (int64_t s = 0; s < pitch_; s += 2 * kLanes<A>) {
      Lanes<A> sums[kQueries][2] = {};
      for (int64_t d = 0; d < p_.D; ++d) {
        const Lanes<A> left = load(keys + d * pitch_ + s), right = load(keys + d * pitch_ + s + kLanes<A>);
        for (int64_t i = 0; i < kQueries; ++i) {
          sums[i][0] += left * queries[i * p_.D + d];
          sums[i][1] += right * queries[i * p_.D + d];
        }
      }
      for (int64_t i = 0; i < kQueries; ++i) {
        store(scores + i * pitch_ + s, sums[i][0]);
        store(scores + i * pitch_ + s + kLanes<A>, sums[i][1]);
      }
    }
  }

  void score_few(const A* queries, int64_t b, int64_t n, int64_t rows, A* scores) const {
    for (int64_t s = 0; s < p_.S; ++s) {
      const T* const key = row(p_.k, p_.k_strides, b, n, s);
      for (int64_t i = 0; i < rows; ++i) {
        Lanes<A> sum = {};
        for_lanes<A>(p_.D, [&](int64_t d, auto part) {
          sum += load(key + d, part) * load(queries + i * p_.D + d, part);
        });
        scores[i * pitch_ + s] = sum_of_lanes(sum);
      }
    }
  }

  // -inf where query t may not look, the added mask elsewhere; -inf behind the last key.
  void mask(int64_t b, int64_t n, int64_t t, A* scores) const {
    const A never = -A(__builtin_inff());
    const int64_t* const strides = p_.mask_strides;
    const int64_t from = b * strides[0] + n * strides[1] + t * strides[2];
    for (int64_t s = 0; p_.seen && s < p_.S; ++s)
      if (!p_.seen[from + s * strides[3]]) scores[s] = never;
    for (int64_t s = 0; p_.added && s < p_.S; ++s)
      scores[s] += static_cast<const A*>(p_.added)[from + s * strides[3]];
    int64_t seen = p_.S;
    if (p_.causal) seen = smaller(seen, attend_last_key(t, p_.T, p_.S) + 1);
    for (int64_t s = seen < 0 ? 0 : seen; s < pitch_; ++s) scores[s] = never;
  }

  // scores [pitch_] to weights; returns the log-sum-exp. A row without a key gives zeros and -inf.
  A softmax(A* scores) const {
    Lanes<A> top = all_lanes(-A(__builtin_inff()));
    for (int64_t s = 0; s < pitch_; s += kLanes<A>) top = larger(top, load(scores + s));
    A largest = largest_lane(top);
    if (largest == -A(__builtin_inff())) largest = 0;
    Lanes<A> sums = {};
    for (int64_t s = 0; s < pitch_; s += kLanes<A>) {
      const Lanes<A> power = exp_of_negative(load(scores + s) - largest);
      store(scores + s, power);
      sums += power;
    }
    const A sum = sum_of_lanes(sums), share = sum == A(0) ? A(1) : A(1) / sum;
    for (int64_t s = 0; s < pitch_; s += kLanes<A>) store(scores + s, load(scores + s) * share);
    return static_cast<A>(::log(static_cast<double>(sum)) + static_cast<double>(largest));
  }

  void copy_row(const A* from, A* to) const {
    for (int64_t s = 0; s < p_.S; ++s) to[s] = from[s];
  }

  // Heads come in their order.
  void add_row(const A* from, int64_t n, A* to) const {
    const A share = A(1) / static_cast<A>(p_.N);
    for (int64_t s = 0; s < p_.S; ++s) to[s] = n == 0 ? from[s] * share : to[s] + from[s] * share;
  }

  // output [4, V] = weights [4, pitch_] · v [S, V]
  void sum_values(const A* weights, int64_t b, int64_t n, int64_t t, int64_t rows) const {
    const T* const values = row(p_.v, p_.v_strides, b, n, 0);
    T* const output = static_cast<T*>(p_.output) + ((b * p_.N + n) * p_.T + t) * p_.V;
    for_lanes<A>(p_.V, [&](int64_t v, auto part) {
      Lanes<A> sums[kQueries] = {};
      for (int64_t s = 0; s < p_.S; ++s) {
        const Lanes<A> value = load(values + s * p_.v_strides.row + v, part);
        for (int64_t i = 0; i < kQueries; ++i) sums[i] += value * weights[(i < rows ? i : 0) * pitch_ + s];
      }
      for (int64_t i = 0; i < rows; ++i) store(output + i * p_.V + v, sums[i], part);
    });
  }

  const AttendCpu& p_;
  CpuRuntime& run_;
  int64_t pitch_;  // of a row of scores: S in whole pairs of lanes
  A* keys_ = nullptr;
};

}  // namespace

void GAZE_CPU_NAME(attend_forward)(const AttendCpu& p, CpuRuntime& run) {
  for_type(p.type, [&](auto number) {
    using T = decltype(number);
    Attend<T, typename Accumulator<T>::type>(p, run).forward();
  });
}

}  // namespace gaze::detail
