// spatial_gate's passes over memory. Pictures go through in groups small enough that the pass which
// multiplies finds in the cache what the pass which squeezes has read; with statistics of the batch all are
// one group. Sums are taken over fixed pieces and joined in their order, so that no result depends on the
// number of threads. Included by sources compiled per instruction set alone, see lanes.h.
#pragma once

#include "modules/ops/cpu/lanes_exp.h"
#include "modules/ops/spatial_gate/spatial_gate_cpu_kernel.h"
#include "modules/ops/spatial_gate/spatial_gate_cpu_planes.h"
#include "modules/ops/spatial_gate/spatial_gate_math.h"

namespace gaze::detail {
namespace {  // NOLINT: one copy a build is the point

constexpr int64_t kCellsAtOnce = 256;  // at least, where channels are far apart in memory

template <typename T, typename A>
class SpatialGate {
 public:
  SpatialGate(SpatialGateCpu& p, CpuRuntime& run)
      : p_(p),
        run_(run),
        x_(static_cast<const T*>(p.x)),
        residual_(static_cast<const T*>(p.residual)),
        grad_(static_cast<const T*>(p.grad_output)),
        channel_gate_(static_cast<const A*>(p.channel_gate)),
        weight_(static_cast<const A*>(p.weight)),
        HW_(p.H * p.W),
        picture_(p.C * HW_),
        border_(p.H, p.W, p.K, kLanes<A>) {
    const int64_t least = p.channels_last ? 1 : (kCellsAtOnce + p.W - 1) / p.W;
    pieces_ = cut(p.H, p.W * p.C * static_cast<int64_t>(sizeof(T)), least, p.H < least ? least : p.H);
  }

  // Statistics of the batch need all pictures at once.
  bool needs_all() const { return p_.has_norm && !p_.fixed_statistics; }

  void forward() {
    prepare_forward();
    for (int64_t b0 = 0; b0 < p_.B; b0 += group_) forward(b0, smaller(group_, p_.B - b0));
  }

  void prepare_forward() {
    group_ = needs_all() ? p_.B : pictures_together(picture_ * static_cast<int64_t>(sizeof(T)), p_.B);
    make_planes(false, false);
  }
  int64_t group() const { return group_; }

  // Of n <= group() pictures.
  void forward(int64_t b0, int64_t n) {
    A* const gate = static_cast<A*>(p_.gate);
    const bool stream = p_.channels_last && streams<T>(p_.output, p_.B * picture_, p_.C);
    squeeze(b0, n);
    if (needs_all()) {
      for_pieces(b0, n, [&](int64_t b, int64_t first, int64_t rows) { activate(b0, b, first, rows); });
      take_statistics();
    }
    const Norm norm = make_norm();
    for_pieces(b0, n, [&](int64_t b, int64_t first, int64_t rows) {
      if (!needs_all()) activate(b0, b, first, rows);
      A* const gates = gate + b * HW_ + first * p_.W;
      const A* const activations = activation_ + (b - b0) * HW_ + first * p_.W;
      for_lanes<A>(rows * p_.W, [&](int64_t i, auto part) {
        const Lanes<A> g = sigmoid(norm.logit(norm.normed(load(activations + i, part))));
        store(gates + i, p_.has_mix ? A(1) + norm.mix * (g - A(1)) : g, part);
      });
      for_flags(residual_ != nullptr, stream, [&](auto with_residual, auto streamed) {
        multiply<with_residual, streamed>(gate + b * HW_, b, first * p_.W, rows * p_.W);
      });
    });
  }

  void backward() {
    const int64_t cells = p_.B * HW_, KK = p_.K * p_.K;
    group_ = p_.B;
    make_planes(true, grad_ != nullptr);
    squeeze(0, p_.B);
    for_pieces(0, p_.B, [&](int64_t b, int64_t first, int64_t rows) { activate(0, b, first, rows); });
    if (p_.has_norm && !p_.fixed_statistics) take_statistics();
    const Norm norm = make_norm();

    // Cell by cell to the activation's gradient, which stands in activation_ in the end.
    A* const gate = run_.scratch<A>(cells);
    A* const grad_logits = run_.scratch<A>(cells);
    p_.grad_mix = p_.grad_scale = p_.grad_shift = p_.grad_bias = 0;
    for (int64_t i = 0; i < cells; ++i) {
      const A normed = norm.normed(activation_[i]), g = gate_sigmoid(norm.logit(normed));
      const A grad =
          (grad_ ? sums_.product[i] : A(0)) + (p_.grad_gate ? static_cast<const A*>(p_.grad_gate)[i] : A(0));
      gate[i] = gate_mixed(g, p_.has_mix, norm.mix);
      grad_logits[i] = gate_grad_logit(grad, g, p_.has_mix, norm.mix);
      p_.grad_mix += gate_grad_mix(grad, g);
      p_.grad_shift += grad_logits[i];
      p_.grad_scale += grad_logits[i] * normed;
    }
    const bool moving = p_.has_norm && !p_.fixed_statistics;
    const A mean_grad = moving ? static_cast<A>(p_.grad_shift / static_cast<double>(cells)) : A(0);
    const A mean_grad_normed = moving ? static_cast<A>(p_.grad_scale / static_cast<double>(cells)) : A(0);
    for (int64_t i = 0; i < cells; ++i) {
      const A normed = norm.normed(activation_[i]);
      activation_[i] = p_.has_norm
                           ? spatial_gate_grad_activation(grad_logits[i], normed, norm.scale,
                                                          norm.inverse_sigma, mean_grad, mean_grad_normed)
                           : grad_logits[i];
      p_.grad_bias += activation_[i];
    }

    // Through the convolution, a picture at a time.
    A* const flipped = run_.scratch<A>(2 * KK);
    for (int64_t i = 0; i < 2 * KK; ++i) flipped[i] = weight_[i / KK * KK + (KK - 1 - i % KK)];
    A* const grad_padded = run_.scratch<A>(p_.B * border_.numbers);
    A* const kernel_grads = run_.scratch<A>(p_.B * 2 * KK);
    A* const grad_planes = run_.scratch<A>(2 * cells);  // [B, 2, HW]
    run_.parallel(p_.B, [&](int64_t b) {
      A* const padded = grad_padded + b * border_.numbers;
      for (int64_t i = 0; i < border_.numbers; ++i) padded[i] = 0;
      set_inside(activation_ + b * HW_, border_, 0, p_.H, padded);
      for (int64_t plane = 0; plane < 2; ++plane) {
        correlate_kernel(padded_ + (2 * b + plane) * border_.numbers, padded, border_,
                         kernel_grads + (2 * b + plane) * KK);
        correlate<A, 1>(padded, flipped + plane * KK, A(0), border_, 0, p_.H,
                        grad_planes + (2 * b + plane) * HW_);
      }
      for (int64_t cell = 0; cell < HW_; ++cell)
        grad_planes[(2 * b + 1) * HW_ + cell] /= static_cast<A>(p_.C);
    });
    A* const grad_weight = static_cast<A*>(p_.grad_weight);
    for (int64_t i = 0; i < 2 * KK; ++i) {
      grad_weight[i] = 0;
      for (int64_t b = 0; b < p_.B; ++b) grad_weight[i] += kernel_grads[b * 2 * KK + i];
    }

    A* const partial = channel_gate_ ? run_.scratch<A>(p_.B * pieces_.count * p_.C) : nullptr;
    for_pieces(0, p_.B, [&](int64_t b, int64_t first, int64_t rows) {
      A* const of_piece = partial ? partial + (b * pieces_.count + first / pieces_.step) * p_.C : nullptr;
      spread(gate + b * HW_, grad_planes + 2 * b * HW_, b, first * p_.W, rows * p_.W, of_piece);
    });
    for (int64_t i = 0; partial && i < p_.B * p_.C; ++i) {
      A sum = 0;
      for (int64_t piece = 0; piece < pieces_.count; ++piece)
        sum += partial[(i / p_.C * pieces_.count + piece) * p_.C + i % p_.C];
      static_cast<A*>(p_.grad_channel_gate)[i] = sum;
    }
  }

 private:
  struct Norm {
    bool given;
    A mean, inverse_sigma, scale, shift, mix;
    // Of a number or a vector of them.
    template <typename V>
    V normed(V activation) const {
      return given ? (activation - mean) * inverse_sigma : activation;
    }
    template <typename V>
    V logit(V normed) const {
      return given ? spatial_gate_logit(normed, V{} + scale, V{} + shift) : normed;
    }
  };

  Norm make_norm() const {
    return {p_.has_norm,
            static_cast<A>(p_.mean),
            spatial_gate_inverse_sigma(static_cast<A>(p_.variance), static_cast<A>(p_.eps)),
            static_cast<A>(p_.scale),
            static_cast<A>(p_.shift),
            static_cast<A>(p_.mix)};
  }

  void make_planes(bool where, bool product) {
    const int64_t cells = group_ * HW_;
    sums_.largest = run_.scratch<A>(cells);
    sums_.mean = run_.scratch<A>(cells);
    if (where) sums_.where = run_.scratch<LaneIndex<A>>(cells);
    if (product) sums_.product = run_.scratch<A>(cells);
    activation_ = run_.scratch<A>(cells);
    padded_ = run_.scratch<A>(group_ * 2 * border_.numbers);
    for (int64_t i = 0; i < group_ * 2 * border_.numbers; ++i) padded_[i] = 0;
  }

  // body(b, first row, rows) for the pieces of n pictures.
  template <typename Body>
  void for_pieces(int64_t b0, int64_t n, const Body& body) const {
    run_.parallel(n * pieces_.count, [&](int64_t item) {
      const int64_t first = item % pieces_.count * pieces_.step;
      body(b0 + item / pieces_.count, first, smaller(pieces_.step, p_.H - first));
    });
  }

  const A* gate_of(int64_t b) const { return channel_gate_ ? channel_gate_ + b * p_.C : nullptr; }
  int64_t offset(int64_t b, int64_t cell) const {
    return b * picture_ + cell * (p_.channels_last ? p_.C : 1);
  }

  // sums_ and padded_ of n pictures.
  void squeeze(int64_t b0, int64_t n) {
    for_pieces(b0, n, [&](int64_t b, int64_t first, int64_t rows) {
      const int64_t from = offset(b, first * p_.W);
      const CellSums<A> sums = sums_.at((b - b0) * HW_ + first * p_.W);
      const T* const grad = sums.product ? grad_ + from : nullptr;
      if (p_.channels_last) {
        squeeze_rows(x_ + from, grad, gate_of(b), rows * p_.W, p_.C, sums);
      } else {
        squeeze_planes(x_ + from, grad, gate_of(b), rows * p_.W, p_.C, HW_, sums);
      }
      A* const padded = padded_ + (b - b0) * 2 * border_.numbers;
      set_inside(sums_.largest + (b - b0) * HW_, border_, first, rows, padded);
      set_inside(sums_.mean + (b - b0) * HW_, border_, first, rows, padded + border_.numbers);
    });
  }

  // Rows of activation_.
  void activate(int64_t b0, int64_t b, int64_t first, int64_t rows) {
    correlate<A, 2>(padded_ + (b - b0) * 2 * border_.numbers, weight_, static_cast<A>(p_.bias), border_,
                    first, rows, activation_ + (b - b0) * HW_);
  }

  void take_statistics() {
    const int64_t cells = p_.B * HW_;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < cells; ++i) sum += activation_[i];
    p_.mean = sum / static_cast<double>(cells);
    for (int64_t i = 0; i < cells; ++i) squares += (activation_[i] - p_.mean) * (activation_[i] - p_.mean);
    p_.variance = squares / static_cast<double>(cells);
  }

  // The output's `count` cells from `first` on.
  template <bool kResidual, bool kStream>
  void multiply(const A* gate, int64_t b, int64_t first, int64_t count) const {
    const Lanes<A> lowest = all_lanes(gate_lowest<A>(p_.relu));
    const int64_t from = offset(b, first), rows = p_.channels_last ? count : p_.C;
    const int64_t length = p_.channels_last ? p_.C : count, stride = p_.channels_last ? p_.C : HW_;
    const A* const factors = gate_of(b);
    gate += first;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = from + row * stride;
      const T* const residual = kResidual ? residual_ + at : nullptr;
      const Lanes<A> of_row = all_lanes(p_.channels_last ? gate[row] : factors ? factors[row] : A(1));
      for_lanes<A>(length, [&](int64_t i, auto part) {
        const Lanes<A> channel = !p_.channels_last ? of_row
                                 : factors         ? load(factors + i, part)
                                                   : all_lanes(A(1));
        const Lanes<A> cell = p_.channels_last ? of_row : load(gate + i, part);
        const Lanes<A> added = kResidual ? load(residual + i, part) : all_lanes(-A(0));
        store_output<kStream>(static_cast<T*>(p_.output) + at + i,
                              spatial_gate_output(load(x_ + at + i, part), channel, cell, added, lowest),
                              part);
      });
    }
    if (kStream) end_streaming();
  }

  // The same cells of x's gradient; grad_planes [2, HW] of the maximum and of the mean, the latter divided by
  // C. Adds up the channel gate's gradient over them in `partial` [C] unless it is null.
  void spread(const A* gate, const A* grad_planes, int64_t b, int64_t first, int64_t count,
              A* partial) const {
    const int64_t from = offset(b, first), rows = p_.channels_last ? count : p_.C;
    const int64_t length = p_.channels_last ? p_.C : count, stride = p_.channels_last ? p_.C : HW_;
    const A *const factors = gate_of(b), *const of_largest = grad_planes + first,
                   *const share = of_largest + HW_;
    const LaneIndex<A>* const where = sums_.where + b * HW_ + first;
    gate += first;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = from + row * stride;
      Lanes<A> sum = {};
      for_lanes<A>(length, [&](int64_t i, auto part) {
        const Lanes<A> above = grad_ ? load(grad_ + at + i, part) : Lanes<A>{};
        Lanes<A> grad_u, channel;
        if (p_.channels_last) {
          const auto hit = count_lanes<A>() + all_lanes_index<A>(i) == all_lanes_index<A>(where[row]);
          const Lanes<A> top = hit ? all_lanes(of_largest[row]) : Lanes<A>{};
          grad_u = spatial_gate_grad_u(above, all_lanes(gate[row]), all_lanes(share[row]), top);
          channel = factors ? load(factors + i, part) : all_lanes(A(1));
        } else {
          const auto hit = load_indices(where + i, part) == all_lanes_index<A>(row);
          const Lanes<A> top = hit ? load(of_largest + i, part) : Lanes<A>{};
          grad_u = spatial_gate_grad_u(above, load(gate + i, part), load(share + i, part), top);
          channel = all_lanes(factors ? factors[row] : A(1));
        }
        store(static_cast<T*>(p_.grad_x) + at + i, grad_u * channel, part);
        if (!partial) return;
        const Lanes<A> product = outside(grad_u, A(0), part) * load(x_ + at + i, part);
        if (p_.channels_last) {
          store(partial + i, row == 0 ? product : load(partial + i, part) + product, part);
        } else {
          sum += product;
        }
      });
      if (partial && !p_.channels_last) partial[row] = sum_of_lanes(sum);
    }
  }

  SpatialGateCpu& p_;
  CpuRuntime& run_;
  const T *x_, *residual_, *grad_;
  const A *channel_gate_, *weight_;
  int64_t HW_, picture_;  // numbers in a channel, in a picture
  Border border_;
  Pieces pieces_;      // of a picture: rows
  int64_t group_ = 1;  // pictures
  CellSums<A> sums_;   // [group, HW]
  A* activation_;      // [group, HW]
  A* padded_;          // [group, 2, border_.numbers]
};

}  // namespace
}  // namespace gaze::detail
