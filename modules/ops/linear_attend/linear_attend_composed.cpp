// linear_attend in plain ATen calls: runs on every device that has no kernel of its own, and is what an
// exporter sees. linear_attend_math.h says how the sums are ordered. Where a chunk of φ = exp ends depends on
// the numbers, which a traced graph cannot follow.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <limits>

#include "modules/ops/attend/attend_math.h"
#include "modules/ops/linear_attend/linear_attend_math.h"
#include "modules/ops/linear_attend/linear_attend_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace {

using detail::LinearAttendMap;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kChunk = 64;

at::Tensor slope(LinearAttendMap map, const at::Tensor& x, const at::Tensor& features) {
  if (map == LinearAttendMap::exp) return features;
  if (map == LinearAttendMap::relu) return (x > 0).to(x.scalar_type());
  return features.masked_fill(x > 0, 1);
}

// The sum of φ(x) yᵀ over the tokens streamed so far.
class State {
 public:
  State(LinearAttendMap map, const at::Tensor& x, int64_t columns)
      : map_(map), sum_(at::zeros({x.size(0), x.size(1), x.size(3), columns}, x.options())) {
    if (map == LinearAttendMap::exp) {
      top_ = at::full({x.size(0), x.size(1), 1, x.size(3)}, -kInfinity, x.options());
      seen_ = top_;
    }
  }

  const at::Tensor& sum() const { return sum_; }  // [B, N, M, P]

  // Makes ready for tokens x [B, N, rows, M]; returns how many of them are one chunk.
  int64_t begin(const at::Tensor& x) {
    if (map_ != LinearAttendMap::exp) return x.size(2);
    const at::Tensor top = at::maximum(seen_, x.narrow(2, 0, 1));  // [B, N, 1, M]
    sum_.mul_((top_ - top).exp_().masked_fill_(top == -kInfinity, 1).transpose(2, 3));
    top_ = top;
    return (x > top + detail::kLinearAttendHeadroom).any().item<bool>() ? 1 : x.size(2);
  }

  at::Tensor streamed(const at::Tensor& x) const {
    if (map_ == LinearAttendMap::relu) return x.relu();
    if (map_ == LinearAttendMap::elu_plus_one) return at::where(x > 0, x + 1, x.clamp_max(0).exp());
    return (x - finite_top() - detail::kLinearAttendHeadroom).exp_();
  }

  // Of queries [B, N, rows, M]: what their logits are diminished by, [B, N, rows, 1].
  at::Tensor shift(const at::Tensor& x) const {
    if (map_ != LinearAttendMap::exp) return at::zeros({}, x.options());
    return (x + finite_top()).amax(3, true).add_(detail::kLinearAttendHeadroom);
  }

  at::Tensor reading(const at::Tensor& x, const at::Tensor& shift) const {
    if (map_ != LinearAttendMap::exp) return streamed(x);
    return (x + finite_top() - shift).exp_().masked_fill_(top_ == -kInfinity, 0);
  }

  void add(const at::Tensor& x, const at::Tensor& features, const at::Tensor& y) {
    sum_.add_(at::matmul(features.transpose(2, 3), y));
    if (map_ == LinearAttendMap::exp) seen_ = at::maximum(top_, x.amax(2, true));
  }

 private:
  at::Tensor finite_top() const { return top_.masked_fill(top_ == -kInfinity, 0); }

  LinearAttendMap map_;
  at::Tensor sum_;
  at::Tensor top_, seen_;  // [B, N, 1, M], of the state's divisor and of all tokens
};

// What is streamed beside its readers: reader i sees tokens up to i + diagonal. Undefined for no chunk.
struct Chunk {
  at::Tensor features, y;
  int64_t diagonal = 0;
};

// x · state + (the lower triangle of x · leftᵀ) · right
at::Tensor look(const at::Tensor& x, const at::Tensor& state, const at::Tensor& left, const at::Tensor& right,
                int64_t diagonal) {
  const at::Tensor result = at::matmul(x, state);
  if (!left.defined()) return result;
  return result + at::matmul(at::matmul(x, left.transpose(2, 3)).tril(diagonal), right);
}

// Streams x [B, N, streams, M] with y [B, N, streams, P]; read(first, count, chunk) for all readers, where
// causal each after the token of the same number + lag.
template <typename Read>
void sweep(State& state, const at::Tensor& x, const at::Tensor& y, int64_t readers, int64_t lag, bool causal,
           const Read& read) {
  const int64_t streams = x.size(2), end = causal ? readers + lag : streams;
  for (int64_t first = 0, count = 0; first < end; first += count) {
    count = std::min(kChunk, end - first);
    Chunk chunk;
    at::Tensor tokens;
    if (first < streams) {
      count = state.begin(x.narrow(2, first, std::min(count, streams - first)));
      tokens = x.narrow(2, first, count);
      chunk = {state.streamed(tokens), y.narrow(2, first, count)};
    }
    const int64_t from = std::max(first, lag);
    chunk.diagonal = from - first;
    if (causal && from < first + count) read(from - lag, first + count - from, chunk);
    if (tokens.defined()) state.add(tokens, chunk.features, chunk.y);
  }
  if (!causal) read(0, readers, Chunk());
}

// The arguments of both directions, in the statistics dtype.
struct Arguments {
  at::Tensor q, k, y;  // k -inf where masked, y = [v, 1] and 0 there
  LinearAttendMap map;
  int64_t lag;

  Arguments(const at::Tensor& any_q, const at::Tensor& any_k, const at::Tensor& v,
            const std::optional<at::Tensor>& mask, int64_t any_map)
      : map(static_cast<LinearAttendMap>(any_map)),
        lag(detail::attend_last_key(0, any_q.size(2), any_k.size(2))) {
    const at::ScalarType dtype = detail::statistics_dtype(any_q.scalar_type());
    q = any_q.to(dtype);
    k = any_k.to(dtype);
    y = at::cat({v.to(dtype), at::ones({v.size(0), v.size(1), v.size(2), 1}, q.options())}, 3);
    if (!detail::is_given(mask)) return;
    const at::Tensor hidden = mask->logical_not().unsqueeze(1).unsqueeze(3);  // [B, 1, S, 1]
    k = k.masked_fill(hidden, -kInfinity);
    y = y.masked_fill(hidden, 0);
  }
};

}  // namespace

namespace detail {

at::Tensor linear_attend_composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const std::optional<at::Tensor>& mask, int64_t map, bool causal) {
  check_linear_attend(q, k, v, mask, map);
  const Arguments in(q, k, v, mask, map);
  const int64_t V = v.size(3);
  at::Tensor output = at::zeros({q.size(0), q.size(1), q.size(2), V}, q.options());
  State state(in.map, in.k, V + 1);
  sweep(state, in.k, in.y, q.size(2), in.lag, causal, [&](int64_t first, int64_t count, const Chunk& chunk) {
    const at::Tensor x = in.q.narrow(2, first, count);
    const at::Tensor features = state.reading(x, state.shift(x));  // [B, N, count, M]
    const at::Tensor sums = look(features, state.sum(), chunk.features, chunk.y, chunk.diagonal);
    const at::Tensor denominator = sums.narrow(3, V, 1);  // [B, N, count, 1]
    output.narrow(2, first, count).copy_(sums.narrow(3, 0, V) / denominator.masked_fill(denominator == 0, 1));
  });
  return output;
}

LinearAttendBackward linear_attend_backward_composed(const at::Tensor& q, const at::Tensor& k,
                                                     const at::Tensor& v,
                                                     const std::optional<at::Tensor>& mask,
                                                     const at::Tensor& grad_output, int64_t map,
                                                     bool causal) {
  const Arguments in(q, k, v, mask, map);
  const int64_t V = v.size(3), T = q.size(2), S = k.size(2);
  const at::Tensor grad = grad_output.to(in.q.scalar_type());
  at::Tensor grad_q = at::zeros(q.sizes(), q.options());
  at::Tensor g = at::zeros({q.size(0), q.size(1), T, V + 1}, in.q.options());
  at::Tensor logits = in.q.clone();  // of the features as they are streamed in the second sweep
  State forth(in.map, in.k, V + 1);
  sweep(forth, in.k, in.y, T, in.lag, causal, [&](int64_t first, int64_t count, const Chunk& chunk) {
    const at::Tensor x = in.q.narrow(2, first, count), shift = forth.shift(x);
    const at::Tensor features = forth.reading(x, shift);  // [B, N, count, M]
    const at::Tensor sums = look(features, forth.sum(), chunk.features, chunk.y, chunk.diagonal);
    const at::Tensor denominator = sums.narrow(3, V, 1);  // [B, N, count, 1]
    const at::Tensor inverse = denominator.reciprocal().masked_fill_(denominator == 0, 0);
    const at::Tensor above = grad.narrow(2, first, count) * inverse;  // [B, N, count, V]
    const at::Tensor along = (above * sums.narrow(3, 0, V)).sum(3, true) * inverse;
    const at::Tensor rows = at::cat({above, -along}, 3);  // [B, N, count, V + 1]
    g.narrow(2, first, count).copy_(rows);
    if (in.map == LinearAttendMap::exp) logits.narrow(2, first, count).sub_(shift);
    const at::Tensor grad_features =
        look(rows, forth.sum().transpose(2, 3), chunk.y, chunk.features, chunk.diagonal);
    grad_q.narrow(2, first, count).copy_(slope(in.map, x, features) * grad_features);
  });

  const at::Tensor keys = in.k.flip(2), y = in.y.flip(2);
  at::Tensor grad_k = at::zeros(k.sizes(), k.options()), grad_v = at::zeros(v.sizes(), v.options());
  State back(in.map, in.q, V + 1);
  sweep(back, logits.flip(2), g.flip(2), S, 0, causal, [&](int64_t first, int64_t count, const Chunk& chunk) {
    const at::Tensor x = keys.narrow(2, first, count), rows = y.narrow(2, first, count);
    const at::Tensor features = back.reading(x, at::zeros({}, x.options()));  // [B, N, count, M]
    const at::Tensor grad_y = look(features, back.sum(), chunk.features, chunk.y, chunk.diagonal);
    grad_v.narrow(2, first, count).copy_(grad_y.narrow(3, 0, V));
    const at::Tensor grad_features =
        look(rows, back.sum().transpose(2, 3), chunk.y, chunk.features, chunk.diagonal);
    grad_k.narrow(2, first, count).copy_(slope(in.map, x, features) * grad_features);
  });
  return {grad_q, grad_k.flip(2), grad_v.flip(2)};
}

}  // namespace detail

TORCH_LIBRARY_IMPL(gaze, CompositeExplicitAutograd, library) {
  library.impl("linear_attend", detail::linear_attend_composed);
  library.impl("linear_attend_backward", detail::linear_attend_backward_composed);
}

}  // namespace gaze
