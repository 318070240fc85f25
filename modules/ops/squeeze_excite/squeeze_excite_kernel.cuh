// squeeze_excite on CUDA: the bodies of its kernels and the order in which they run. Forward: the map is
// summed, two small products give the gate, and the map is multiplied. Backward: the map and the gradient are
// summed, the small products run forward and back, and the gradient is spread. No atomics: the same bits
// every time.
#pragma once

#include <cstdint>

#include "modules/ops/cuda/map_walk.cuh"
#include "modules/ops/cuda/small_matmul.cuh"
#include "modules/ops/squeeze_excite/squeeze_excite_math.h"

namespace gaze::detail {

// What sums are taken in.
template <class T>
struct WideType {
  using type = float;
};
template <>
struct WideType<double> {
  using type = double;
};

// Dense memory. Null where an argument is not given or a result is not wanted.
template <class Memory, class T>
struct SqueezeExciteKernel {
  using Element = T;
  using A = typename WideType<T>::type;
  template <class U>
  using In = typename Memory::template Global<const U>;
  template <class U>
  using Out = typename Memory::template Global<U>;

  MapSplit map{};
  int64_t R = 0;
  bool max_pool = false, relu = false;
  In<T> x{};            // [B, C, cells], or [B, cells, C] in channels-last memory
  In<T> w1{}, b1{};     // [R, C], [R] or null
  In<T> w2{}, b2{};     // [C, R], [C] or null
  In<T> mix{};          // one number or null
  In<T> residual{};     // like x, or null
  Out<T> output{};      // like x, or null where the gate is all that is wanted
  Out<A> gate{};        // [B, C]
  In<T> grad_output{};  // like x, or null
  In<A> grad_gate{};    // [B, C] or null
  Out<T> grad_x{};      // like x
  Out<T> grad_w1{}, grad_b1{}, grad_w2{}, grad_b2{}, grad_mix{};

  // Scratch. P passes go through the layers: of the mean, and of the maximum where that is pooled too.
  Out<A> sums{}, largest{}, products{};    // [chunks, B, C]; products of x · grad_output
  Out<int> where{};                        // [chunks, B, C], the first largest cell
  Out<A> hidden{};                         // [P, B, R]
  Out<A> grad_logits{}, grad_mix_parts{};  // [B, C]
  Out<A> grad_mix_sums{};                  // [C]
  Out<A> grad_hidden{}, grad_squeezed{};   // [P, B, R], [P, B, C]

  GAZE_HOST_DEVICE int64_t passes() const { return max_pool ? 2 : 1; }
  GAZE_HOST_DEVICE int64_t BC() const { return map.B * map.C; }

  // What pass `row / B` squeezes channel c of picture `row % B` to.
  GAZE_HOST_DEVICE A squeezed(int64_t row, int64_t c) const {
    const bool of_mean = row < map.B;
    const int64_t i = (of_mean ? row : row - map.B) * map.C + c;
    if (of_mean) return joined(sums, i) / static_cast<A>(map.cells);
    A result = largest[i];
    for (int64_t chunk = 1; chunk < map.chunks; ++chunk) {
      const A next = largest[chunk * BC() + i];
      if (is_larger(next, result)) result = next;
    }
    return result;
  }
  GAZE_HOST_DEVICE A joined(const Out<A>& parts, int64_t i) const {
    A sum = parts[i];
    for (int64_t chunk = 1; chunk < map.chunks; ++chunk) sum += static_cast<A>(parts[chunk * BC() + i]);
    return sum;
  }
  GAZE_HOST_DEVICE int64_t first_largest(int64_t i) const {
    A best = largest[i];
    int cell = where[i];
    for (int64_t chunk = 1; chunk < map.chunks; ++chunk) {
      const A next = largest[chunk * BC() + i];
      if (!is_larger(next, best)) continue;
      best = next;
      cell = where[chunk * BC() + i];
    }
    return cell;
  }
  // The hidden units of both passes, which w2 meets as one sum.
  GAZE_HOST_DEVICE A hidden_of_passes(int64_t b, int64_t r) const {
    A sum = hidden[b * R + r];
    if (max_pool) sum += static_cast<A>(hidden[(map.B + b) * R + r]);
    return sum;
  }
  GAZE_HOST_DEVICE A mix_value() const { return mix ? static_cast<A>(static_cast<T>(mix[0])) : A(1); }

  // A NaN is larger than any number, so that it is not lost.
  GAZE_HOST_DEVICE static bool is_larger(A a, A b) { return a > b || (a != a && b == b); }
};

// What a channel's cells come to. kGradient: with the products and the place of the maximum.
template <class A, bool kLargest, bool kGradient>
struct SqueezeExciteSums {
  static constexpr bool kWhere = kLargest && kGradient;
  A sum = 0, product = 0, largest = -static_cast<A>(INFINITY);
  int where = -1;

  static constexpr int64_t shared_bytes(int64_t count) {
    return (1 + kLargest + kGradient) * array_bytes(count, sizeof(A)) +
           kWhere * array_bytes(count, sizeof(int));
  }

  template <class Kernel>
  GAZE_HOST_DEVICE void add(A x, A grad, int64_t cell) {
    sum += x;
    if (kGradient) product += x * grad;
    if (kLargest && (Kernel::is_larger(x, largest) || (kWhere && where < 0))) {
      largest = x;
      where = static_cast<int>(cell);
    }
  }
  GAZE_HOST_DEVICE void merge(const SqueezeExciteSums& other) {
    sum += other.sum;
    product += other.product;
    const bool larger = other.largest > largest || (other.largest != other.largest && largest == largest);
    const bool equal = other.largest == largest || (other.largest != other.largest && largest != largest);
    const bool earlier = kWhere && other.where >= 0 && (where < 0 || (equal && other.where < where));
    if (!kLargest || !(larger || earlier)) return;
    largest = other.largest;
    where = other.where;
  }
  template <class Thread>
  GAZE_HOST_DEVICE SqueezeExciteSums shuffled_xor(Thread& t, int flip) const {
    SqueezeExciteSums other;
    other.sum = t.shuffle_xor(sum, flip);
    if (kGradient) other.product = t.shuffle_xor(product, flip);
    if (kLargest) other.largest = t.shuffle_xor(largest, flip);
    if (kWhere) other.where = t.shuffle_xor(where, flip);
    return other;
  }

  // Where threads lay sums for each other.
  template <class Thread>
  struct Shelf {
    template <class U>
    using Shared = typename Thread::template Shared<U>;
    Shared<A> sums{}, products{}, largests{};
    Shared<int> wheres{};

    GAZE_HOST_DEVICE Shelf(Thread& t, int64_t count) : sums(t.template shared<A>("sums", count)) {
      if (kGradient) products = t.template shared<A>("products", count);
      if (kLargest) largests = t.template shared<A>("largest", count);
      if (kWhere) wheres = t.template shared<int>("where", count);
    }
    GAZE_HOST_DEVICE void put(int at, const SqueezeExciteSums& value) const {
      sums[at] = value.sum;
      if (kGradient) products[at] = value.product;
      if (kLargest) largests[at] = value.largest;
      if (kWhere) wheres[at] = value.where;
    }
    GAZE_HOST_DEVICE SqueezeExciteSums get(int at) const {
      SqueezeExciteSums value;
      value.sum = sums[at];
      if (kGradient) value.product = products[at];
      if (kLargest) value.largest = largests[at];
      if (kWhere) value.where = wheres[at];
      return value;
    }
  };
};

// The first pass over the map: sums, and in backward products and places.
template <class Walk, bool kLargest, bool kGradient, class Kernel>
struct SqueezeExcitePool {
  using Sums = SqueezeExciteSums<typename Kernel::A, kLargest, kGradient>;
  Kernel p;

  template <class Thread>
  GAZE_HOST_DEVICE void operator()(Thread& t) const {
    using A = typename Kernel::A;
    const Walk walk(t, p.map);
    Sums sums[Walk::kChannels];
    const bool has_grad = kGradient && static_cast<bool>(p.grad_output);
    walk.each([&](auto width, int64_t offset, int64_t cell) {
      constexpr int N = decltype(width)::value;
      const auto x = t.template load<N>(p.x, offset);
      auto grad = x;
      if (has_grad) grad = t.template load<N>(p.grad_output, offset);
      for (int e = 0; e < N; ++e) {
        sums[Walk::channel_of(e)].template add<Kernel>(static_cast<A>(x.at[e]), static_cast<A>(grad.at[e]),
                                                       cell + Walk::cells_after(e));
      }
    });
    walk.join(t, sums);
    if (!walk.writes()) return;
    for (int e = 0; e < Walk::kChannels; ++e) {
      const int64_t i = walk.chunk() * p.BC() + walk.channel(e);
      p.sums[i] = sums[e].sum;
      if (kGradient) p.products[i] = has_grad ? sums[e].product : A(0);
      if (kLargest) p.largest[i] = sums[e].largest;
      if (Sums::kWhere) p.where[i] = sums[e].where;
    }
  }
};

// The second pass, forward: output = relu(x · gate + residual).
template <class Walk, class Kernel>
struct SqueezeExciteScale {
  Kernel p;

  template <class Thread>
  GAZE_HOST_DEVICE void operator()(Thread& t) const {
    using A = typename Kernel::A;
    const Walk walk(t, p.map);
    if (!walk.here()) return;
    const A lowest = gate_lowest<A>(p.relu);
    const bool has_residual = static_cast<bool>(p.residual);
    A gate[Walk::kChannels];
    for (int e = 0; e < Walk::kChannels; ++e) gate[e] = p.gate[walk.channel(e)];
    walk.each([&](auto width, int64_t offset, int64_t) {
      constexpr int N = decltype(width)::value;
      auto pack = t.template load<N>(p.x, offset);
      auto residual = pack;
      if (has_residual) residual = t.template load<N>(p.residual, offset);
      for (int e = 0; e < N; ++e) {
        const A added = has_residual ? static_cast<A>(residual.at[e]) : -A(0);  // keeps the sign of a zero
        const A y =
            squeeze_excite_output(static_cast<A>(pack.at[e]), gate[Walk::channel_of(e)], added, lowest);
        pack.at[e] = y;
      }
      t.template store<N>(p.output, offset, pack);
    });
  }
};

// The second pass, backward: x's gradient.
template <class Walk, class Kernel>
struct SqueezeExciteSpread {
  Kernel p;

  template <class Thread>
  GAZE_HOST_DEVICE void operator()(Thread& t) const {
    using A = typename Kernel::A;
    constexpr int C = Walk::kChannels;
    const Walk walk(t, p.map);
    if (!walk.here()) return;
    const bool has_grad = static_cast<bool>(p.grad_output);
    A gate[C], mean_share[C], of_largest[C];
    int64_t first_largest[C];
    for (int e = 0; e < C; ++e) {
      const int64_t i = walk.channel(e);
      gate[e] = p.gate[i];
      mean_share[e] = static_cast<A>(p.grad_squeezed[i]) / static_cast<A>(p.map.cells);
      of_largest[e] = A(0);
      first_largest[e] = -1;
      if (!p.max_pool) continue;
      of_largest[e] = p.grad_squeezed[p.BC() + i];
      first_largest[e] = p.first_largest(i);
    }
    walk.each([&](auto width, int64_t offset, int64_t cell) {
      constexpr int N = decltype(width)::value;
      auto pack = t.template load<N>(p.x, offset);  // for its type, where there is no gradient
      if (has_grad) pack = t.template load<N>(p.grad_output, offset);
      for (int e = 0; e < N; ++e) {
        const int c = Walk::channel_of(e);
        const A above = has_grad ? static_cast<A>(pack.at[e]) : A(0);
        A grad = squeeze_excite_grad_x(above, gate[c], mean_share[c]);
        if (cell + Walk::cells_after(e) == first_largest[c]) grad += of_largest[c];
        pack.at[e] = grad;
      }
      t.template store<N>(p.grad_x, offset, pack);
    });
  }
};

// The small products. [rows, depth] x [depth, columns], see small_matmul.cuh.

// hidden [P·B, R] = relu(squeezed [P·B, C] · w1ᵀ + b1)
template <class Kernel>
struct SqueezeExciteHidden {
  using A = typename Kernel::A;
  using Accumulator = A;
  static constexpr bool kLeftAlongDepth = true, kRightAlongDepth = true;
  Kernel p;

  GAZE_HOST_DEVICE int64_t rows() const { return p.passes() * p.map.B; }
  GAZE_HOST_DEVICE int64_t columns() const { return p.R; }
  GAZE_HOST_DEVICE int64_t depth() const { return p.map.C; }
  GAZE_HOST_DEVICE A left(int64_t row, int64_t c) const { return p.squeezed(row, c); }
  GAZE_HOST_DEVICE A right(int64_t c, int64_t r) const { return static_cast<A>(p.w1[r * p.map.C + c]); }
  GAZE_HOST_DEVICE void store(int64_t row, int64_t r, A sum) const {
    if (p.b1) sum += static_cast<A>(p.b1[r]);
    p.hidden[row * p.R + r] = squeeze_excite_hidden(sum);
  }
};

// gate [B, C] from logits = hidden · w2ᵀ + P · b2; in backward their gradient too
template <bool kGradient, class Kernel>
struct SqueezeExciteGate {
  using A = typename Kernel::A;
  using Accumulator = A;
  static constexpr bool kLeftAlongDepth = true, kRightAlongDepth = true;
  Kernel p;

  GAZE_HOST_DEVICE int64_t rows() const { return p.map.B; }
  GAZE_HOST_DEVICE int64_t columns() const { return p.map.C; }
  GAZE_HOST_DEVICE int64_t depth() const { return p.R; }
  GAZE_HOST_DEVICE A left(int64_t b, int64_t r) const { return p.hidden_of_passes(b, r); }
  GAZE_HOST_DEVICE A right(int64_t r, int64_t c) const { return static_cast<A>(p.w2[c * p.R + r]); }
  GAZE_HOST_DEVICE void store(int64_t b, int64_t c, A logit) const {
    const int64_t i = b * p.map.C + c;
    if (p.b2) logit += static_cast<A>(p.passes()) * static_cast<A>(p.b2[c]);
    const A g = gate_sigmoid(logit);
    const bool has_mix = static_cast<bool>(p.mix);
    const A mix = p.mix_value();
    p.gate[i] = gate_mixed(g, has_mix, mix);
    if (!kGradient) return;
    A grad = p.joined(p.products, i);
    if (p.grad_gate) grad += static_cast<A>(p.grad_gate[i]);
    p.grad_logits[i] = gate_grad_logit(grad, g, has_mix, mix);
    if (has_mix) p.grad_mix_parts[i] = gate_grad_mix(grad, g);
  }
};

// grad_hidden [P·B, R]: grad_logits [B, C] · w2 [C, R], where the unit was on
template <class Kernel>
struct SqueezeExciteGradHidden {
  using A = typename Kernel::A;
  using Accumulator = A;
  static constexpr bool kLeftAlongDepth = true, kRightAlongDepth = false;
  Kernel p;

  GAZE_HOST_DEVICE int64_t rows() const { return p.map.B; }
  GAZE_HOST_DEVICE int64_t columns() const { return p.R; }
  GAZE_HOST_DEVICE int64_t depth() const { return p.map.C; }
  GAZE_HOST_DEVICE A left(int64_t b, int64_t c) const { return p.grad_logits[b * p.map.C + c]; }
  GAZE_HOST_DEVICE A right(int64_t c, int64_t r) const { return static_cast<A>(p.w2[c * p.R + r]); }
  GAZE_HOST_DEVICE void store(int64_t b, int64_t r, A grad) const {
    for (int64_t pass = 0; pass < p.passes(); ++pass) {
      const int64_t i = (pass * p.map.B + b) * p.R + r;
      p.grad_hidden[i] = squeeze_excite_grad_hidden(grad, static_cast<A>(p.hidden[i]));
    }
  }
};

// grad_squeezed [P·B, C] = grad_hidden [P·B, R] · w1 [R, C]
template <class Kernel>
struct SqueezeExciteGradSqueezed {
  using A = typename Kernel::A;
  using Accumulator = A;
  static constexpr bool kLeftAlongDepth = true, kRightAlongDepth = false;
  Kernel p;

  GAZE_HOST_DEVICE int64_t rows() const { return p.passes() * p.map.B; }
  GAZE_HOST_DEVICE int64_t columns() const { return p.map.C; }
  GAZE_HOST_DEVICE int64_t depth() const { return p.R; }
  GAZE_HOST_DEVICE A left(int64_t row, int64_t r) const { return p.grad_hidden[row * p.R + r]; }
  GAZE_HOST_DEVICE A right(int64_t r, int64_t c) const { return static_cast<A>(p.w1[r * p.map.C + c]); }
  GAZE_HOST_DEVICE void store(int64_t row, int64_t c, A grad) const {
    p.grad_squeezed[row * p.map.C + c] = grad;
  }
};

// grad_w1 [R, C] = grad_hidden [P·B, R]ᵀ · squeezed [P·B, C]
template <class Kernel>
struct SqueezeExciteGradW1 {
  using A = typename Kernel::A;
  using Accumulator = A;
  static constexpr bool kLeftAlongDepth = false, kRightAlongDepth = false;
  Kernel p;

  GAZE_HOST_DEVICE int64_t rows() const { return p.R; }
  GAZE_HOST_DEVICE int64_t columns() const { return p.map.C; }
  GAZE_HOST_DEVICE int64_t depth() const { return p.passes() * p.map.B; }
  GAZE_HOST_DEVICE A left(int64_t r, int64_t row) const { return p.grad_hidden[row * p.R + r]; }
  GAZE_HOST_DEVICE A right(int64_t row, int64_t c) const { return p.squeezed(row, c); }
  GAZE_HOST_DEVICE void store(int64_t r, int64_t c, A grad) const { p.grad_w1[r * p.map.C + c] = grad; }
};

// grad_w2 [C, R] = grad_logits [B, C]ᵀ · the hidden units of both passes [B, R]
template <class Kernel>
struct SqueezeExciteGradW2 {
  using A = typename Kernel::A;
  using Accumulator = A;
  static constexpr bool kLeftAlongDepth = false, kRightAlongDepth = false;
  Kernel p;

  GAZE_HOST_DEVICE int64_t rows() const { return p.map.C; }
  GAZE_HOST_DEVICE int64_t columns() const { return p.R; }
  GAZE_HOST_DEVICE int64_t depth() const { return p.map.B; }
  GAZE_HOST_DEVICE A left(int64_t c, int64_t b) const { return p.grad_logits[b * p.map.C + c]; }
  GAZE_HOST_DEVICE A right(int64_t b, int64_t r) const { return p.hidden_of_passes(b, r); }
  GAZE_HOST_DEVICE void store(int64_t c, int64_t r, A grad) const { p.grad_w2[c * p.R + r] = grad; }
};

// out [columns] = factor · the sum of each column of in [rows, columns]
template <class Memory, class A, class T>
struct ColumnSums {
  using Accumulator = A;
  static constexpr bool kLeftAlongDepth = false, kRightAlongDepth = false;
  typename Memory::template Global<const A> in;
  typename Memory::template Global<T> out;
  int64_t in_rows, in_columns;
  A factor;

  GAZE_HOST_DEVICE int64_t rows() const { return 1; }
  GAZE_HOST_DEVICE int64_t columns() const { return in_columns; }
  GAZE_HOST_DEVICE int64_t depth() const { return in_rows; }
  GAZE_HOST_DEVICE A left(int64_t, int64_t) const { return A(1); }
  GAZE_HOST_DEVICE A right(int64_t row, int64_t column) const { return in[row * in_columns + column]; }
  GAZE_HOST_DEVICE void store(int64_t, int64_t column, A sum) const { out[column] = factor * sum; }
};

// Takes scratch through take.template array<U>("name", count). Afterwards p is complete.
template <class Kernel, class Take>
void take_squeeze_excite_scratch(Kernel& p, bool backward, Take& take) {
  using A = typename Kernel::A;
  const int64_t parts = p.map.chunks * p.BC(), PB = p.passes() * p.map.B;
  p.sums = take.template array<A>("sums", parts);
  if (p.max_pool) p.largest = take.template array<A>("largest", parts);
  p.hidden = take.template array<A>("hidden", PB * p.R);
  if (!backward) return;
  p.products = take.template array<A>("products", parts);
  if (p.max_pool) p.where = take.template array<int>("where", parts);
  p.gate = take.template array<A>("gate", p.BC());
  p.grad_logits = take.template array<A>("grad_logits", p.BC());
  p.grad_mix_parts = take.template array<A>("grad_mix_parts", p.BC());
  p.grad_mix_sums = take.template array<A>("grad_mix_sums", p.map.C);
  p.grad_hidden = take.template array<A>("grad_hidden", PB * p.R);
  p.grad_squeezed = take.template array<A>("grad_squeezed", PB * p.map.C);
}

template <bool kGradient, class Walk, class Launcher, class Kernel>
void launch_squeeze_excite_pool(Launcher& launch, const Kernel& p) {
  using A = typename Kernel::A;
  const int64_t count = p.map.threads * Walk::kChannels;
  if (p.max_pool) {
    const auto bytes = SqueezeExciteSums<A, true, kGradient>::shared_bytes(count);
    launch(Walk::grid(p.map, bytes), SqueezeExcitePool<Walk, true, kGradient, Kernel>{p});
  } else {
    const auto bytes = SqueezeExciteSums<A, false, kGradient>::shared_bytes(count);
    launch(Walk::grid(p.map, bytes), SqueezeExcitePool<Walk, false, kGradient, Kernel>{p});
  }
}

template <class Walk, class Launcher, class Kernel>
void launch_squeeze_excite_forward(Launcher& launch, const Kernel& p) {
  launch_squeeze_excite_pool<false, Walk>(launch, p);
  launch_matmul(launch, SqueezeExciteHidden<Kernel>{p}, p.map.threads);
  launch_matmul(launch, SqueezeExciteGate<false, Kernel>{p}, p.map.threads);
  if (p.output) launch(Walk::grid(p.map, 0), SqueezeExciteScale<Walk, Kernel>{p});
}

template <class Walk, class Launcher, class Kernel>
void launch_squeeze_excite_backward(Launcher& launch, const Kernel& p) {
  using A = typename Kernel::A;
  using Memory = typename Launcher::Memory;
  const int threads = p.map.threads;
  const int64_t B = p.map.B, C = p.map.C, PB = p.passes() * B;
  launch_squeeze_excite_pool<true, Walk>(launch, p);
  launch_matmul(launch, SqueezeExciteHidden<Kernel>{p}, threads);
  launch_matmul(launch, SqueezeExciteGate<true, Kernel>{p}, threads);
  launch_matmul(launch, SqueezeExciteGradHidden<Kernel>{p}, threads);
  launch_matmul(launch, SqueezeExciteGradSqueezed<Kernel>{p}, threads);
  launch(Walk::grid(p.map, 0), SqueezeExciteSpread<Walk, Kernel>{p});
  launch_matmul(launch, SqueezeExciteGradW1<Kernel>{p}, threads);
  launch_matmul(launch, SqueezeExciteGradW2<Kernel>{p}, threads);
  using ToResult = ColumnSums<Memory, A, typename Kernel::Element>;
  using ToScratch = ColumnSums<Memory, A, A>;
  if (p.grad_b1) launch_matmul(launch, ToResult{p.grad_hidden, p.grad_b1, PB, p.R, A(1)}, threads);
  if (p.grad_b2) {
    launch_matmul(launch, ToResult{p.grad_logits, p.grad_b2, B, C, static_cast<A>(p.passes())}, threads);
  }
  if (!p.grad_mix) return;
  launch_matmul(launch, ToScratch{p.grad_mix_parts, p.grad_mix_sums, B, C, A(1)}, threads);
  launch_matmul(launch, ToResult{p.grad_mix_sums, p.grad_mix, C, 1, A(1)}, threads);
}

}  // namespace gaze::detail
