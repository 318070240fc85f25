// squeeze_excite on the CPU, compiled once per instruction set. Pictures go through in groups small enough
// that the pass which multiplies finds in the cache what the pass which sums has read. Sums are taken over
// fixed pieces and joined in their order, so that no result depends on the number of threads.
#include "modules/ops/squeeze_excite/squeeze_excite_cpu_kernel.h"

#include "modules/ops/cpu/dense.h"
#include "modules/ops/cpu/lanes.h"
#include "modules/ops/squeeze_excite/squeeze_excite_cpu_sums.h"
#include "modules/ops/squeeze_excite/squeeze_excite_math.h"

namespace gaze::detail {
namespace {

constexpr int64_t kGroupBytes = int64_t{4} << 20;

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
    pieces_ = p.channels_last ? cut(p.HW, p.C * bytes, kRowsAtOnce) : cut(p.C, p.HW * bytes, 1);
    group_ = smaller(kGroupBytes / (picture_ * bytes), p.B);
    if (group_ < 1) group_ = 1;
    squeezed_ = run.scratch<A>(passes_ * p.B * p.C);
    hidden_ = run.scratch<A>((passes_ + 1) * p.B * p.R);
    logits_ = run.scratch<A>(p.B * p.C);
    partial_.x = run.scratch<A>(partials() * p.C);
    if (p.max_pool) partial_.largest = run.scratch<A>(partials() * p.C);
  }

  void forward() {
    A* const gate = static_cast<A*>(p_.gate);
    for (int64_t b0 = 0; b0 < p_.B; b0 += group_) {
      const int64_t n = smaller(group_, p_.B - b0);
      squeeze(b0, n);
      excite(b0, n);
      for (int64_t i = b0 * p_.C; i < (b0 + n) * p_.C; ++i)
        gate[i] = gate_mixed(gate_sigmoid(logits_[i]), p_.has_mix, mix_);
      if (p_.output == nullptr) continue;
      for_pieces(b0, n, [&](int64_t b, int64_t first, int64_t count) {
        if (residual_) {
          multiply<true>(gate + b * p_.C, b, first, count);
        } else {
          multiply<false>(gate + b * p_.C, b, first, count);
        }
      });
    }
  }

  void backward() {
    const int64_t BC = p_.B * p_.C, BR = p_.B * p_.R;
    if (p_.max_pool) partial_.where = run_.scratch<LaneIndex<A>>(partials() * p_.C);
    if (p_.max_pool) where_ = run_.scratch<LaneIndex<A>>(BC);
    if (grad_) partial_.product = run_.scratch<A>(partials() * p_.C);
    product_ = run_.scratch<A>(BC);
    for (int64_t i = 0; i < BC; ++i) product_[i] = 0;
    A* const gate = run_.scratch<A>(BC);
    A* const grad_logits = run_.scratch<A>(BC);
    A* const grad_hidden = run_.scratch<A>(passes_ * BR);
    A* const grad_squeezed = run_.scratch<A>(passes_ * BC);
    const A* const w1 = static_cast<const A*>(p_.w1);
    const A* const w2 = static_cast<const A*>(p_.w2);
    double grad_mix = 0;
    for (int64_t b0 = 0; b0 < p_.B; b0 += group_) {
      const int64_t n = smaller(group_, p_.B - b0), from_c = b0 * p_.C, from_r = b0 * p_.R;
      squeeze(b0, n);
      excite(b0, n);
      for (int64_t i = from_c; i < from_c + n * p_.C; ++i) {
        const A g = gate_sigmoid(logits_[i]);
        const A grad = product_[i] + (p_.grad_gate ? static_cast<const A*>(p_.grad_gate)[i] : A(0));
        gate[i] = gate_mixed(g, p_.has_mix, mix_);
        grad_mix += gate_grad_mix(grad, g);
        grad_logits[i] = gate_grad_logit(grad, g, p_.has_mix, mix_);
      }
      for (int64_t pass = 0; pass < passes_; ++pass) {
        A* const grads = grad_hidden + pass * BR + from_r;
        const A* const hidden = hidden_ + pass * BR + from_r;
        dense_transposed(run_, w2, grad_logits + from_c, grads, n, p_.C, p_.R);
        for (int64_t i = 0; i < n * p_.R; ++i) grads[i] = squeeze_excite_grad_hidden(grads[i], hidden[i]);
        dense_transposed(run_, w1, grads, grad_squeezed + pass * BC + from_c, n, p_.R, p_.C);
      }
      for (int64_t i = from_c; i < from_c + n * p_.C; ++i) grad_squeezed[i] /= static_cast<A>(p_.HW);
      for_pieces(b0, n, [&](int64_t b, int64_t first, int64_t count) {
        const int64_t from = b * p_.C;
        spread(gate + from, grad_squeezed + from, grad_squeezed + (passes_ - 1) * BC + from, b, first, count);
      });
    }
    *p_.grad_mix = grad_mix;
    // The hidden units of both passes meet w2 as one sum.
    dense_outer(run_, grad_logits, hidden_ + passes_ * BR, static_cast<A*>(p_.grad_w2), p_.B, p_.C, p_.R);
    dense_outer(run_, grad_hidden, squeezed_, static_cast<A*>(p_.grad_w1), passes_ * p_.B, p_.R, p_.C);
    sum_pictures(grad_hidden, static_cast<A*>(p_.grad_b1), passes_ * p_.B, p_.R, A(1));
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
    for (int64_t b = b0; b < b0 + n; ++b) {
      const ChannelSums<A> sums = partial_.at((b - b0) * joined * p_.C);
      join_pieces(sums, p_.C, joined);
      for (int64_t c = 0; c < p_.C; ++c) {
        squeezed_[b * p_.C + c] = sums.x[c] / static_cast<A>(p_.HW);
        if (sums.largest) squeezed_[(p_.B + b) * p_.C + c] = sums.largest[c];
        if (sums.where) where_[b * p_.C + c] = sums.where[c];
        if (sums.product) product_[b * p_.C + c] = sums.product[c];
      }
    }
  }

  // Of n pictures: hidden_, last the sum over passes, and logits_.
  void excite(int64_t b0, int64_t n) {
    const int64_t from = b0 * p_.R, BR = p_.B * p_.R;
    A* const sum = hidden_ + passes_ * BR + from;
    for (int64_t pass = 0; pass < passes_; ++pass) {
      A* const hidden = hidden_ + pass * BR + from;
      const A* const squeezed = squeezed_ + (pass * p_.B + b0) * p_.C;
      dense(run_, static_cast<const A*>(p_.w1), squeezed, hidden, n, p_.R, p_.C);
      for (int64_t i = 0; i < n * p_.R; ++i) {
        const A bias = p_.b1 ? static_cast<const A*>(p_.b1)[i % p_.R] : A(0);
        hidden[i] = squeeze_excite_hidden(hidden[i] + bias);
        sum[i] = pass == 0 ? hidden[i] : sum[i] + hidden[i];
      }
    }
    A* const logits = logits_ + b0 * p_.C;
    dense(run_, static_cast<const A*>(p_.w2), sum, logits, n, p_.C, p_.R);
    for (int64_t i = 0; p_.b2 && i < n * p_.C; ++i)
      logits[i] += static_cast<A>(passes_) * static_cast<const A*>(p_.b2)[i % p_.C];
  }

  // The output's `count` rows from `first` on: a row is a cell's channels, or a channel's cells.
  template <bool kResidual>
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
        const Lanes<A> added = kResidual ? load(residual + i, part) : Lanes<A>{};
        store(output + i, squeeze_excite_output(load(x + i, part), factor, added, all_lanes(lowest)), part);
      });
    }
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
  int64_t passes_;   // through the two layers: of the mean, of the maximum
  A mix_;
  Pieces pieces_;  // of a picture: rows of cells in channels-last memory, else channels
  int64_t group_;  // pictures
  ChannelSums<A> partial_;
  A* squeezed_;                    // [passes, B, C]
  A* hidden_;                      // [passes + 1, B, R]
  A* logits_;                      // [B, C]
  A* product_ = nullptr;           // [B, C], the sum of x · grad_output
  LaneIndex<A>* where_ = nullptr;  // [B, C]
};

}  // namespace

void GAZE_CPU_NAME(squeeze_excite_forward)(const SqueezeExciteCpu& p, CpuRuntime& run) {
  for_type(p.type, [&](auto number) {
    using T = decltype(number);
    SqueezeExcite<T, typename Accumulator<T>::type>(p, run).forward();
  });
}

void GAZE_CPU_NAME(squeeze_excite_backward)(const SqueezeExciteCpu& p, CpuRuntime& run) {
  for_type(p.type, [&](auto number) {
    using T = decltype(number);
    SqueezeExcite<T, typename Accumulator<T>::type>(p, run).backward();
  });
}

}  // namespace gaze::detail
