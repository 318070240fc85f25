// squeeze_excite's passes over memory. Pictures go through in groups small enough that the pass which
// multiplies finds in the cache what the pass which sums has read. Sums are taken over fixed pieces and
// joined in their order, so that no result depends on the number of threads. Included by sources compiled per
// instruction set alone, see lanes.h.
#pragma once

#include "modules/ops/cpu/dense.h"
#include "modules/ops/cpu/lanes.h"
#include "modules/ops/cpu/lanes_exp.h"
#include "modules/ops/squeeze_excite/squeeze_excite_cpu_kernel.h"
#include "modules/ops/squeeze_excite/squeeze_excite_cpu_sums.h"
#include "modules/ops/squeeze_excite/squeeze_excite_math.h"

namespace gaze::detail {
namespace {  // NOLINT: one copy a build is the point

template <typename T, typename A>
class SqueezeExcite {
 public:
  SqueezeExcite(const SqueezeExciteCpu& p, CpuRuntime& run)
      : p_(p),
        run_(run),
        x_(static_cast<const T*>(p.x)),
        residual_(static_cast<const T*>(p.residual)),
        grad_(static_cast<const T*>(p.grad_output)),
        picture_(p.C * p.HW),
        passes_(p.max_pool ? 2 : 1),
        mix_(static_cast<A>(p.mix)) {
    const auto bytes = static_cast<int64_t>(sizeof(T));
    // At least 32 cells, so that partial sums are few; at most 64, so that they are exact to a few last bits.
    pieces_ = p.channels_last ? cut(p.HW, p.C * bytes, 32, 64) : cut(p.C, p.HW * bytes, 1, p.C);
    group_ = pictures_together(picture_ * bytes, p.B);
    squeezed_ = run.scratch<A>(passes_ * p.B * p.C);
    hidden_ = run.scratch<A>(passes_ * p.B * p.R);
    hidden_sum_ = run.scratch<A>(p.B * p.R);
    logits_ = run.scratch<A>(p.B * p.C);
    partial_.x = run.scratch<A>(partials() * p.C);
    if (p.max_pool) partial_.largest = run.scratch<A>(partials() * p.C);
  }

  int64_t group() const { return group_; }

  void forward() {
    for (int64_t b0 = 0; b0 < p_.B; b0 += group_) forward(b0, smaller(group_, p_.B - b0));
  }

  // Of n <= group() pictures.
  void forward(int64_t b0, int64_t n) {
    A* const gate = static_cast<A*>(p_.gate);
    squeeze(b0, n);
    excite(b0, n);
    for_pictures(b0, n, [&](int64_t b) {
      for_lanes<A>(p_.C, [&](int64_t c, auto part) {
        const Lanes<A> g = sigmoid(load(logits_ + b * p_.C + c, part));
        store(gate + b * p_.C + c, p_.has_mix ? A(1) + mix_ * (g - A(1)) : g, part);
      });
    });
    if (p_.output == nullptr) return;
    const bool stream = streams<T>(p_.output, p_.B * picture_, p_.channels_last ? p_.C : p_.HW);
    for_pieces(b0, n, [&](int64_t b, int64_t first, int64_t count) {
      for_flags(residual_ != nullptr, stream, [&](auto with_residual, auto streamed) {
        multiply<with_residual, streamed>(gate + b * p_.C, b, first, count);
      });
    });
  }

  void backward() {
    const int64_t BC = p_.B * p_.C, rows = passes_ * p_.B;
    if (p_.max_pool) partial_.where = run_.scratch<LaneIndex<A>>(partials() * p_.C);
    if (p_.max_pool) where_ = run_.scratch<LaneIndex<A>>(BC);
    if (grad_) partial_.product = run_.scratch<A>(partials() * p_.C);
    product_ = run_.scratch<A>(BC);
    for (int64_t i = 0; i < BC; ++i) product_[i] = 0;
    A* const gate = run_.scratch<A>(BC);
    A* const grad_logits = run_.scratch<A>(BC);
    A* const grad_hidden = run_.scratch<A>(rows * p_.R);
    A* const grad_squeezed = run_.scratch<A>(rows * p_.C);
    A* const grad_sum = run_.scratch<A>(group_ * p_.R);
    const A* const w1 = static_cast<const A*>(p_.w1);
    const A* const w2 = static_cast<const A*>(p_.w2);
    double grad_mix = 0;
    for (int64_t b0 = 0; b0 < p_.B; b0 += group_) {
      const int64_t n = smaller(group_, p_.B - b0), from_c = b0 * p_.C;
      A* const grads = grad_hidden + b0 * passes_ * p_.R;
      A* const shares = grad_squeezed + b0 * passes_ * p_.C;
      squeeze(b0, n);
      excite(b0, n);
      for (int64_t i = from_c; i < from_c + n * p_.C; ++i) {
        const A g = gate_sigmoid(logits_[i]);
        const A grad = product_[i] + (p_.grad_gate ? static_cast<const A*>(p_.grad_gate)[i] : A(0));
        gate[i] = gate_mixed(g, p_.has_mix, mix_);
        grad_mix += gate_grad_mix(grad, g);
        grad_logits[i] = gate_grad_logit(grad, g, p_.has_mix, mix_);
      }
      dense_transposed(run_, w2, grad_logits + from_c, grad_sum, n, p_.C, p_.R);
      for (int64_t i = 0; i < n * passes_ * p_.R; ++i) {
        const A grad = grad_sum[i / (passes_ * p_.R) * p_.R + i % p_.R];
        grads[i] = squeeze_excite_grad_hidden(grad, hidden_[b0 * passes_ * p_.R + i]);
      }
      dense_transposed(run_, w1, grads, shares, n * passes_, p_.R, p_.C);
      for (int64_t b = 0; b < n; ++b)
        for (int64_t c = 0; c < p_.C; ++c) shares[b * passes_ * p_.C + c] /= static_cast<A>(p_.HW);
      for_pieces(b0, n, [&](int64_t b, int64_t first, int64_t count) {
        const A* const mean_share = grad_squeezed + b * passes_ * p_.C;
        spread(gate + b * p_.C, mean_share, mean_share + (passes_ - 1) * p_.C, b, first, count);
      });
    }
    *p_.grad_mix = grad_mix;
    dense_outer(run_, grad_logits, hidden_sum_, static_cast<A*>(p_.grad_w2), p_.B, p_.C, p_.R);
    dense_outer(run_, grad_hidden, squeezed_, static_cast<A*>(p_.grad_w1), rows, p_.R, p_.C);
    sum_pictures(grad_hidden, static_cast<A*>(p_.grad_b1), rows, p_.R, A(1));
    sum_pictures(grad_logits, static_cast<A*>(p_.grad_b2), p_.B, p_.C, static_cast<A>(passes_));
  }

 private:
  // How many [C] of sums a group keeps: one a piece of cells, or one a picture where pieces are channels.
  int64_t partials() const { return group_ * (p_.channels_last ? pieces_.count : 1); }

  // body(b, first, count) for the pieces of n pictures: cells of channels-last memory, else channels.
  template <typename Body>
  void for_pieces(int64_t b0, int64_t n, const Body& body) const {
    const int64_t units = p_.channels_last ? p_.HW : p_.C;
    run_.parallel(n * pieces_.count, [&](int64_t item) {
      const int64_t first = item % pieces_.count * pieces_.step;
      body(b0 + item / pieces_.count, first, smaller(pieces_.step, units - first));
    });
  }

  // body(b) for n pictures, whose work is small beside their cells'.
  template <typename Body>
  void for_pictures(int64_t b0, int64_t n, const Body& body) const {
    run_.parallel_if(n * p_.C >= kWorthSharing / 8, n, [&](int64_t i) { body(b0 + i); });
  }

  // Of n pictures: squeezed_, and where_ and product_ where they are wanted.
  void squeeze(int64_t b0, int64_t n) {
    const int64_t joined = p_.channels_last ? pieces_.count : 1;
    for_pieces(b0, n, [&](int64_t b, int64_t first, int64_t count) {
      if (p_.channels_last) {
        const int64_t from = b * picture_ + first * p_.C;
        sum_cells(x_ + from, grad_ ? grad_ + from : nullptr, count, p_.C, first,
                  partial_.at(((b - b0) * joined + first / pieces_.step) * p_.C));
        return;
      }
      for (int64_t c = first; c < first + count; ++c) {
        const int64_t from = b * picture_ + c * p_.HW;
        sum_plane(x_ + from, grad_ ? grad_ + from : nullptr, p_.HW, partial_.at((b - b0) * p_.C + c));
      }
    });
    for_pictures(b0, n, [&](int64_t b) {
      const ChannelSums<A> sums = partial_.at((b - b0) * joined * p_.C);
      join_pieces(sums, p_.C, joined);
      A* const squeezed = squeezed_ + b * passes_ * p_.C;
      for_lanes<A>(p_.C, [&](int64_t c, auto part) {
        store(squeezed + c, load(sums.x + c, part) / static_cast<A>(p_.HW), part);
        if (sums.largest) store(squeezed + p_.C + c, load(sums.largest + c, part), part);
        if (sums.where) store_indices(where_ + b * p_.C + c, load_indices(sums.where + c, part), part);
        if (sums.product) store(product_ + b * p_.C + c, load(sums.product + c, part), part);
      });
    });
  }

  // Of n pictures: hidden_, hidden_sum_ and logits_. The second layer is linear: it meets both passes as one
  // sum.
  void excite(int64_t b0, int64_t n) {
    const int64_t row = passes_ * p_.R;
    A* const hidden = hidden_ + b0 * row;
    A* const sum = hidden_sum_ + b0 * p_.R;
    A* const logits = logits_ + b0 * p_.C;
    dense(run_, static_cast<const A*>(p_.w1), squeezed_ + b0 * passes_ * p_.C, hidden, n * passes_, p_.R,
          p_.C);
    for (int64_t b = 0; b < n; ++b)
      for (int64_t r = 0; r < p_.R; ++r) {
        const A bias = p_.b1 ? static_cast<const A*>(p_.b1)[r] : A(0);
        A total = 0;
        for (int64_t i = b * row + r; i < (b + 1) * row; i += p_.R)
          total += hidden[i] = squeeze_excite_hidden(hidden[i] + bias);
        sum[b * p_.R + r] = total;
      }
    dense(run_, static_cast<const A*>(p_.w2), sum, logits, n, p_.C, p_.R);
    const A* const b2 = static_cast<const A*>(p_.b2);
    for (int64_t b = 0; b2 && b < n; ++b)
      for_lanes<A>(p_.C, [&](int64_t c, auto part) {
        A* const at = logits + b * p_.C + c;
        store(at, load(at, part) + static_cast<A>(passes_) * load(b2 + c, part), part);
      });
  }

  // The output's `count` rows from `first` on: a row is a cell's channels, or a channel's cells.
  template <bool kResidual, bool kStream>
  void multiply(const A* gate, int64_t b, int64_t first, int64_t count) const {
    const A lowest = gate_lowest<A>(p_.relu);
    const int64_t length = p_.channels_last ? p_.C : p_.HW;
    for (int64_t row = first; row < first + count; ++row) {
      const int64_t from = b * picture_ + row * length;
      const T* const x = x_ + from;
      const T* const residual = kResidual ? residual_ + from : nullptr;
      T* const output = static_cast<T*>(p_.output) + from;
      const Lanes<A> of_row = all_lanes(p_.channels_last ? A(0) : gate[row]);
      for_lanes<A>(length, [&](int64_t i, auto part) {
        const Lanes<A> factor = p_.channels_last ? load(gate + i, part) : of_row;
        const Lanes<A> added = kResidual ? load(residual + i, part) : all_lanes(-A(0));
        store_output<kStream>(
            output + i, squeeze_excite_output(load(x + i, part), factor, added, all_lanes(lowest)), part);
      });
    }
    if (kStream) end_streaming();
  }

  // The same rows of x's gradient.
  void spread(const A* gate, const A* mean_share, const A* grad_largest, int64_t b, int64_t first,
              int64_t count) const {
    const int64_t length = p_.channels_last ? p_.C : p_.HW;
    T* const grad_x = static_cast<T*>(p_.grad_x) + b * picture_;
    const T* const grad = grad_ ? grad_ + b * picture_ : nullptr;
    for (int64_t row = first; row < first + count; ++row) {
      const int64_t from = row * length;
      for_lanes<A>(length, [&](int64_t i, auto part) {
        const Lanes<A> factor = p_.channels_last ? load(gate + i, part) : all_lanes(gate[row]);
        const Lanes<A> share = p_.channels_last ? load(mean_share + i, part) : all_lanes(mean_share[row]);
        const Lanes<A> above = grad ? load(grad + from + i, part) : Lanes<A>{};
        store(grad_x + from + i, squeeze_excite_grad_x(above, factor, share), part);
      });
    }
    if (!where_) return;
    // The first largest cell of each channel, once more and with its share.
    for (int64_t c = p_.channels_last ? 0 : first; c < (p_.channels_last ? p_.C : first + count); ++c) {
      const int64_t cell = where_[b * p_.C + c];
      if (p_.channels_last && (cell < first || cell >= first + count)) continue;
      const int64_t at = p_.channels_last ? cell * p_.C + c : c * p_.HW + cell;
      const A above = grad ? load_one(grad + at) : A(0);
      store_one(grad_x + at, squeeze_excite_grad_x(above, gate[c], mean_share[c]) + grad_largest[c]);
    }
  }

  // out[i] = factor · sum over n of in[n, i]
  static void sum_pictures(const A* in, A* out, int64_t pictures, int64_t width, A factor) {
    for (int64_t i = 0; i < width; ++i) {
      A sum = 0;
      for (int64_t n = 0; n < pictures; ++n) sum += in[n * width + i];
      out[i] = factor * sum;
    }
  }

  const SqueezeExciteCpu& p_;
  CpuRuntime& run_;
  const T *x_, *residual_, *grad_;
  int64_t picture_;  // numbers in one
  int64_t passes_;   // through the first layer: of the mean, of the maximum
  A mix_;
  Pieces pieces_;  // of a picture: rows of cells in channels-last memory, else channels
  int64_t group_;  // pictures
  ChannelSums<A> partial_;
  A* squeezed_;                    // [B, passes, C]
  A* hidden_;                      // [B, passes, R]
  A* hidden_sum_;                  // [B, R], over passes
  A* logits_;                      // [B, C]
  A* product_ = nullptr;           // [B, C], the sum of x · grad_output
  LaneIndex<A>* where_ = nullptr;  // [B, C]
};

}  // namespace
}  // namespace gaze::detail
