// Forward of window_attend on the CPU, compiled once per instruction set: a query against the rows of its
// window, lanes over the width. Each query's result is one task's, so no bit depends on the number of
// threads.
#include "modules/ops/window_attend/window_attend_cpu_kernel.h"

#include "modules/ops/window_attend/window_attend_cpu_rows.h"

namespace gaze::detail {
namespace {

// First the weights of this many queries, then their sums of values, so that keys and values are not in the
// nearest cache at once: a map's rows are often whole pages apart and would compete for the same lines.
constexpr int64_t kQueries = 16;

template <typename T, typename A>
class WindowAttend {
 public:
  WindowAttend(const WindowAttendCpu& p, CpuRuntime& run)
      : p_(p),
        run_(run),
        H_(p.rows.length),
        W_(p.columns.length),
        size_(window_size(p.rows) * window_size(p.columns)),
        q_(whole_rows<T, A>(p.q, p, p.D, run)),
        k_(whole_rows<T, A>(p.k, p, p.D, run)),
        v_(whole_rows<T, A>(p.v, p, p.V, run)),
        rows_(p.rows, run, window_seen),
        columns_(p.columns, run, window_seen) {}

  void forward() {
    const int64_t pieces = (W_ + kPiece - 1) / kPiece;
    const int64_t heads = p_.mean_weights ? 1 : p_.N;  // a task sums over heads where their mean is wanted
    const int64_t tasks = p_.B * heads * H_ * pieces, slots = smaller(tasks, kSlots);
    const int64_t pitch = whole_steps(rows_.most * columns_.most, kLanes<A>);
    A* const scores = run_.scratch<A>(slots * kQueries * pitch);
    int64_t* const offsets = run_.scratch<int64_t>(slots * 2 * pitch);
    run_.parallel(slots, [&](int64_t slot) {
      Buffers buffers{
          scores + slot * kQueries * pitch, {offsets + slot * 2 * pitch}, {offsets + (slot * 2 + 1) * pitch}};
      for (int64_t task = slot; task < tasks; task += slots) {
        const int64_t x = task % pieces * kPiece, y = task / pieces % H_;
        const int64_t n = task / pieces / H_ % heads, b = task / pieces / H_ / heads;
        for (int64_t head = n; head < (p_.mean_weights ? p_.N : n + 1); ++head)
          for (int64_t i = x; i < smaller(x + kPiece, W_); i += kQueries)
            attend(b, head, y, i, smaller(smaller(x + kPiece, W_) - i, kQueries), pitch, buffers);
      }
    });
  }

 private:
  struct Buffers {
    A* scores;
    Rectangle keys, values;
  };

  void attend(int64_t b, int64_t n, int64_t y, int64_t first, int64_t queries, int64_t pitch,
              Buffers& buffers) const {
    const WindowSpan& ys = rows_.at[y];
    const int64_t cells = ((b * p_.N + n) * H_ + y) * W_;
    for (int64_t i = 0; i < queries; ++i) {
      const int64_t x = first + i;
      const WindowSpan& xs = columns_.at[x];
      A* const scores = buffers.scores + i * pitch;
      buffers.keys.shape(k_, ys, xs, p_);
      dot_rows(q_.at(b, n, y, x), k_.at(b, n, ys.first, xs.first), buffers.keys.offsets, ys.count * xs.count,
               q_.width, scores);
      static_cast<A*>(p_.log_sum_exp)[cells + x] =
          softmax_of(scores, ys.count * xs.count, static_cast<A>(p_.scale)).log_sum_exp;
      if (p_.weights) write_weights(ys, xs, scores, static_cast<A*>(p_.weights) + (cells + x) * size_);
      if (p_.mean_weights)
        add_weights(ys, xs, scores, n, static_cast<A*>(p_.mean_weights) + ((b * H_ + y) * W_ + x) * size_);
    }
    for (int64_t i = 0; i < queries; ++i) {
      const int64_t x = first + i;
      const WindowSpan& xs = columns_.at[x];
      buffers.values.shape(v_, ys, xs, p_);
      write_sum(buffers.scores + i * pitch, v_.at(b, n, ys.first, xs.first), buffers.values.offsets,
                ys.count * xs.count, v_.width, static_cast<T*>(p_.output) + (cells + x) * p_.V, p_.V);
    }
  }

  // body(slot, place) for each key of a query.
  template <typename Body>
  void for_slots(const WindowSpan& ys, const WindowSpan& xs, const Body& body) const {
    const int64_t width = window_size(p_.columns);
    for (int64_t y = 0; y < ys.count; ++y)
      for (int64_t x = 0; x < xs.count; ++x) body((ys.slot + y) * width + xs.slot + x, y * xs.count + x);
  }

  void write_weights(const WindowSpan& ys, const WindowSpan& xs, const A* weights, A* to) const {
    if (ys.count * xs.count < size_)
      for (int64_t i = 0; i < size_; ++i) to[i] = 0;
    for_slots(ys, xs, [&](int64_t slot, int64_t place) { to[slot] = weights[place]; });
  }

  // Heads come in their order.
  void add_weights(const WindowSpan& ys, const WindowSpan& xs, const A* weights, int64_t n, A* to) const {
    const A share = A(1) / static_cast<A>(p_.N);
    if (n == 0)
      for (int64_t i = 0; i < size_; ++i) to[i] = 0;
    for_slots(ys, xs, [&](int64_t slot, int64_t place) { to[slot] += weights[place] * share; });
  }

  const WindowAttendCpu& p_;
  CpuRuntime& run_;
  int64_t H_, W_, size_;
  Rows<A> q_, k_, v_;
  Spans rows_, columns_;
};

}  // namespace

void GAZE_CPU_NAME(window_attend_forward)(const WindowAttendCpu& p, CpuRuntime& run) {
  for_type(p.type, [&](auto number) {
    using T = decltype(number);
    WindowAttend<T, typename Accumulator<T>::type>(p, run).forward();
  });
}

}  // namespace gaze::detail
