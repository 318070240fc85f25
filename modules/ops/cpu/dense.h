// Small linear layers for CPU kernels, over a few pictures at a time. Matrices are row-major; included by
// sources compiled per instruction set alone, see lanes.h.
#pragma once

#include "modules/ops/cpu/cpu_runtime.h"
#include "modules/ops/cpu/lanes.h"

namespace gaze::detail {
namespace {  // NOLINT: one copy a build is the point

constexpr int64_t kPicturesAtOnce = 4;
constexpr int64_t kWorthSharing = int64_t{1} << 16;  // multiply-accumulates

constexpr int64_t kInputsAtOnce = 1024;  // of four pictures: half of a first-level cache
constexpr int64_t kRowsAhead = 4;        // of weights, fetched while these are used: rows are short streams

// Rows of weights that meet the same inputs, as many as there are registers for the sums of four pictures.
#if defined(__AVX512F__)
constexpr int64_t kOutputsAtOnce = 4;
#else
constexpr int64_t kOutputsAtOnce = 1;
#endif

// out[n, o] = sum over i of weight[o, i] · in[n, i], for kOutputs rows o from `begin` on, up to four pictures
// and the inputs [first, first + count).
template <typename A, int64_t kOutputs, int64_t kPictures>
GAZE_LANES void dense_tile(const A* weight, const A* in, A* out, int64_t begin, int64_t outputs,
                           int64_t inputs, int64_t first, int64_t count) {
  Lanes<A> sums[kOutputs][kPicturesAtOnce] = {};
  const A* const row = weight + begin * inputs + first;
  for_lanes<A>(count, [&](int64_t i, auto part) {
    Lanes<A> w[kOutputs];
    for (int64_t o = 0; o < kOutputs; ++o) {
      w[o] = load(row + o * inputs + i, part);
      __builtin_prefetch(row + (o + kRowsAhead) * inputs + i, /*write=*/0, /*locality=*/2);
    }
    for (int64_t n = 0; n < kPictures; ++n) {
      const Lanes<A> x = load(in + n * inputs + first + i, part);
      for (int64_t o = 0; o < kOutputs; ++o) sums[o][n] += w[o] * x;
    }
  });
  for (int64_t o = 0; o < kOutputs; ++o) {
    A joined[kPicturesAtOnce];
    sums_of_lanes(sums[o], joined);
    for (int64_t n = 0; n < kPictures; ++n) {
      A& to = out[n * outputs + begin + o];
      to = first == 0 ? joined[n] : to + joined[n];
    }
  }
}

template <typename A, int64_t kPictures>
void dense_rows(const A* weight, const A* in, A* out, int64_t begin, int64_t end, int64_t outputs,
                int64_t inputs) {
  for (int64_t first = 0; first < inputs; first += kInputsAtOnce) {
    const int64_t count = smaller(kInputsAtOnce, inputs - first);
    int64_t o = begin;
    for (; o + kOutputsAtOnce <= end; o += kOutputsAtOnce)
      dense_tile<A, kOutputsAtOnce, kPictures>(weight, in, out, o, outputs, inputs, first, count);
    for (; o < end; ++o) dense_tile<A, 1, kPictures>(weight, in, out, o, outputs, inputs, first, count);
  }
}

// out [pictures, outputs] = in [pictures, inputs] · weightᵀ + bias, weight [outputs, inputs], bias [outputs]
// or null. For a multiple of 16 inputs, a picture's numbers do not depend on the others.
template <typename A>
void dense(const CpuRuntime& run, const A* weight, const A* in, A* out, int64_t pictures, int64_t outputs,
           int64_t inputs, const A* bias = nullptr) {
  const int64_t step = 16;
  run.parallel_if(pictures * outputs * inputs >= kWorthSharing, (outputs + step - 1) / step,
                  [=](int64_t piece) {
                    const int64_t begin = piece * step, end = smaller(begin + step, outputs);
                    for (int64_t n = 0; n < pictures; n += kPicturesAtOnce) {
                      const A* const x = in + n * inputs;
                      A* const y = out + n * outputs;
                      switch (smaller(pictures - n, kPicturesAtOnce)) {
                        case 1:
                          dense_rows<A, 1>(weight, x, y, begin, end, outputs, inputs);
                          break;
                        case 2:
                          dense_rows<A, 2>(weight, x, y, begin, end, outputs, inputs);
                          break;
                        case 3:
                          dense_rows<A, 3>(weight, x, y, begin, end, outputs, inputs);
                          break;
                        default:
                          dense_rows<A, 4>(weight, x, y, begin, end, outputs, inputs);
                      }
                      if (!bias) continue;
                      for (int64_t i = n; i < smaller(n + kPicturesAtOnce, pictures); ++i)
                        for (int64_t o = begin; o < end; ++o) out[i * outputs + o] += bias[o];
                    }
                  });
}

// out [pictures, inputs] = in [pictures, outputs] · weight, weight [outputs, inputs]
template <typename A>
void dense_transposed(const CpuRuntime& run, const A* weight, const A* in, A* out, int64_t pictures,
                      int64_t outputs, int64_t inputs) {
  const int64_t step = 4 * kLanes<A>;
  run.parallel_if(pictures * outputs * inputs >= kWorthSharing, (inputs + step - 1) / step,
                  [=](int64_t piece) {
                    const int64_t begin = piece * step, count = smaller(step, inputs - begin);
                    for (int64_t n = 0; n < pictures; ++n)
                      for_lanes<A>(count, [&](int64_t i, auto part) {
                        Lanes<A> sum = {};
                        for (int64_t o = 0; o < outputs; ++o)
                          sum += load(weight + o * inputs + begin + i, part) * in[n * outputs + o];
                        store(out + n * inputs + begin + i, sum, part);
                      });
                  });
}

// out [outputs, inputs] = leftᵀ · right, left [pictures, outputs], right [pictures, inputs]
template <typename A>
void dense_outer(const CpuRuntime& run, const A* left, const A* right, A* out, int64_t pictures,
                 int64_t outputs, int64_t inputs) {
  run.parallel_if(pictures * outputs * inputs >= kWorthSharing, outputs, [=](int64_t o) {
    for_lanes<A>(inputs, [&](int64_t i, auto part) {
      Lanes<A> sum = {};
      for (int64_t n = 0; n < pictures; ++n)
        sum += load(right + n * inputs + i, part) * left[n * outputs + o];
      store(out + o * inputs + i, sum, part);
    });
  });
}

}  // namespace
}  // namespace gaze::detail
