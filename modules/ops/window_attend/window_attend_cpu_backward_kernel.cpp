// Backward of window_attend on the CPU, compiled once per instruction set. With P the weights, dO and dW the
// gradients of output and weights, dP = dO · v + dW and dS = scale · P · (dP - Σ P · dP) over the window:
// first each query's dq = Σ dS · k over the keys it sees, then each key's dk = Σ dS · q and dv = Σ P · dO
// over the queries that see it. P is recomputed in both. Each result is one task's: deterministic, no
// atomics.
#include "modules/ops/window_attend/window_attend_cpu_kernel.h"
#include "modules/ops/window_attend/window_attend_cpu_rows.h"

namespace gaze::detail {
namespace {

template <typename T, typename A>
class WindowAttendBackward {
 public:
  WindowAttendBackward(const WindowAttendBackwardCpu& p, CpuRuntime& run)
      : grads_(p),
        p_(p.forward),
        run_(run),
        H_(p_.rows.length),
        W_(p_.columns.length),
        size_(window_size(p_.rows) * window_size(p_.columns)),
        q_(whole_rows<T, A>(p_.q, p_, p_.D, run)),
        k_(whole_rows<T, A>(p_.k, p_, p_.D, run)),
        v_(whole_rows<T, A>(p_.v, p_, p_.V, run)),
        grad_output_(whole_rows<T, A>(p.grad_output, p_, p_.V, run)),
        queries_(run.scratch<Query>(p_.B * p_.N * H_ * W_)),
        scale_(static_cast<A>(p_.scale)) {}

  void backward() {
    walk(window_seen, [&](auto&&... place) { of_query(place...); });
    walk(window_seeing, [&](auto&&... place) { of_key(place...); });
  }

 private:
  // What the second pass wants of a query.
  struct Query {
    A top, share;  // its softmax
    A mean;        // Σ P · dP
  };

  struct Buffers {
    A *weights, *grads;
    Rectangle of_width_d, of_width_v;
  };

  // body(b, n, y, x, rows, columns, buffers) for each cell, with what `find` says of its row and column.
  template <typename Find, typename Body>
  void walk(const Find& find, const Body& body) {
    const Spans rows(p_.rows, run_, find), columns(p_.columns, run_, find);
    const int64_t pieces = (W_ + kPiece - 1) / kPiece;
    const int64_t tasks = p_.B * p_.N * H_ * pieces, slots = smaller(tasks, kSlots);
    const int64_t pitch = whole_steps(rows.most * columns.most, kLanes<A>);
    A* const numbers = run_.scratch<A>(slots * 2 * pitch);
    int64_t* const offsets = run_.scratch<int64_t>(slots * 2 * pitch);
    run_.parallel(slots, [&](int64_t slot) {
      const int64_t left = slot * 2 * pitch, right = left + pitch;
      Buffers buffers{numbers + left, numbers + right, {offsets + left}, {offsets + right}};
      for (int64_t task = slot; task < tasks; task += slots) {
        const int64_t begin = task % pieces * kPiece, y = task / pieces % H_;
        const int64_t n = task / pieces / H_ % p_.N, b = task / pieces / H_ / p_.N;
        for (int64_t x = begin; x < smaller(begin + kPiece, W_); ++x)
          body(b, n, y, x, rows.at[y], columns.at[x], buffers);
      }
    });
  }

  int64_t cell(int64_t b, int64_t n, int64_t y, int64_t x) const {
    return ((b * p_.N + n) * H_ + y) * W_ + x;
  }

  void of_query(int64_t b, int64_t n, int64_t y, int64_t x, const WindowSpan& ys, const WindowSpan& xs,
                Buffers& buffers) const {
    const int64_t count = ys.count * xs.count, at = cell(b, n, y, x);
    A *const weights = buffers.weights, *const grads = buffers.grads;
    buffers.of_width_d.shape(k_, ys, xs, p_);
    const A* const keys = k_.at(b, n, ys.first, xs.first);
    dot_rows(q_.at(b, n, y, x), keys, buffers.of_width_d.offsets, count, q_.width, weights);
    const Softmax<A> softmax = softmax_of(weights, count, scale_);
    if (grad_output_.data) {
      buffers.of_width_v.shape(v_, ys, xs, p_);
      dot_rows(grad_output_.at(b, n, y, x), v_.at(b, n, ys.first, xs.first), buffers.of_width_v.offsets,
               count, v_.width, grads);
    } else {
      for (int64_t i = 0; i < count; ++i) grads[i] = 0;
    }
    if (has_grad_weights()) {
      const int64_t width = window_size(p_.columns);
      for (int64_t i = 0; i < ys.count; ++i)
        for (int64_t j = 0; j < xs.count; ++j)
          grads[i * xs.count + j] += grad_weight(b, n, y, x, (ys.slot + i) * width + xs.slot + j);
    }
    for (int64_t i = count; i < whole_steps(count, kLanes<A>); ++i) grads[i] = 0;
    Lanes<A> sums = {};
    for (int64_t i = 0; i < count; i += kLanes<A>) sums += load(weights + i) * load(grads + i);
    const A mean = sum_of_lanes(sums);
    for (int64_t i = 0; i < count; i += kLanes<A>)
      store(grads + i, load(weights + i) * (load(grads + i) - mean) * scale_);
    queries_[at] = {softmax.top, softmax.share, mean};
    write_sum(grads, keys, buffers.of_width_d.offsets, count, q_.width,
              static_cast<T*>(grads_.grad_q) + at * p_.D, p_.D);
  }

  void of_key(int64_t b, int64_t n, int64_t y, int64_t x, const WindowSpan& ys, const WindowSpan& xs,
              Buffers& buffers) const {
    const int64_t count = ys.count * xs.count, at = cell(b, n, y, x);
    A *const weights = buffers.weights, *const grads = buffers.grads;
    buffers.of_width_d.shape(q_, ys, xs, p_);
    const A* const queries = q_.at(b, n, ys.first, xs.first);
    dot_rows(k_.at(b, n, y, x), queries, buffers.of_width_d.offsets, count, q_.width, weights);
    const A* of_output = nullptr;
    if (grad_output_.data) {
      buffers.of_width_v.shape(grad_output_, ys, xs, p_);
      of_output = grad_output_.at(b, n, ys.first, xs.first);
      dot_rows(v_.at(b, n, y, x), of_output, buffers.of_width_v.offsets, count, v_.width, grads);
    } else {
      for (int64_t i = 0; i < count; ++i) grads[i] = 0;
    }
    const bool of_weights = has_grad_weights();
    for (int64_t i = 0; i < ys.count; ++i) {
      const int64_t query_y = ys.first + i * p_.rows.dilation;
      for (int64_t j = 0; j < xs.count; ++j) {
        const int64_t query_x = xs.first + j * p_.columns.dilation, place = i * xs.count + j;
        const Query& query = queries_[cell(b, n, query_y, query_x)];
        weights[place] = weights[place] * scale_ - query.top;
        if (of_weights)
          grads[place] += grad_weight(b, n, query_y, query_x,
                                      window_slot(p_.rows, query_y, y) * window_size(p_.columns) +
                                          window_slot(p_.columns, query_x, x));
        grads[place] -= query.mean;
      }
    }
    const A never = -A(__builtin_inff());
    for (int64_t i = count; i < whole_steps(count, kLanes<A>); ++i) weights[i] = never;
    for (int64_t i = 0; i < count; i += kLanes<A>) store(weights + i, exp_of_negative(load(weights + i)));
    for (int64_t i = 0; i < ys.count; ++i) {
      const Query* const row = queries_ + cell(b, n, ys.first + i * p_.rows.dilation, xs.first);
      for (int64_t j = 0; j < xs.count; ++j) weights[i * xs.count + j] *= row[j * p_.columns.dilation].share;
    }
    for (int64_t i = 0; i < count; ++i) grads[i] *= weights[i] * scale_;
    write_sum(grads, queries, buffers.of_width_d.offsets, count, q_.width,
              static_cast<T*>(grads_.grad_k) + at * p_.D, p_.D);
    write_sum(weights, of_output, buffers.of_width_v.offsets, of_output ? count : 0, v_.width,
              static_cast<T*>(grads_.grad_v) + at * p_.V, p_.V);
  }

  bool has_grad_weights() const { return grads_.grad_weights || grads_.grad_mean_weights; }

  A grad_weight(int64_t b, int64_t n, int64_t y, int64_t x, int64_t slot) const {
    A sum = 0;
    if (grads_.grad_weights)
      sum = static_cast<const A*>(grads_.grad_weights)[cell(b, n, y, x) * size_ + slot];
    if (grads_.grad_mean_weights)
      sum += static_cast<const A*>(grads_.grad_mean_weights)[((b * H_ + y) * W_ + x) * size_ + slot] /
             static_cast<A>(p_.N);
    return sum;
  }

  const WindowAttendBackwardCpu& grads_;
  const WindowAttendCpu& p_;
  CpuRuntime& run_;
  int64_t H_, W_, size_;
  Rows<A> q_, k_, v_, grad_output_;
  Query* queries_;
  A scale_;
};

}  // namespace

void GAZE_CPU_NAME(window_attend_backward)(const WindowAttendBackwardCpu& p, CpuRuntime& run) {
  for_type(p.forward.type, [&](auto number) {
    using T = decltype(number);
    WindowAttendBackward<T, typename Accumulator<T>::type>(p, run).backward();
  });
}

}  // namespace gaze::detail
