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

// out[n, o] = sum over i of weight[o, i] · in[n, i], for rows o in [begin, end) and up to four pictures.
template <typename A, int64_t kPictures>
void dense_rows(const A* weight, const A* in, A* out, int64_t begin, int64_t end, int64_t outputs,
                int64_t inputs) {
  for (int64_t first = 0; first < inputs; first += kInputsAtOnce)
    for (int64_t o = begin; o < end; ++o) {
      const A* const row = weight + o * inputs + first;
      Lanes<A> sums[kPictures] = {};
      for_lanes<A>(smaller(kInputsAtOnce, inputs - first), [&](int64_t i, auto part) {
        const Lanes<A> w = load(row + i, part);
        for (int64_t n = 0; n < kPictures; ++n) sums[n] += w * load(in + n * inputs + first + i, part);
      });
      for (int64_t n = 0; n < kPictures; ++n) {
        const A sum = sum_of_lanes(sums[n]);
        out[n * outputs + o] = first == 0 ? sum : out[n * outputs + o] + sum;
      }
    }
}

// out [pictures, outputs] = in [pictures, inputs] · weightᵀ, weight [outputs, inputs]
template <typename A>
void dense(const CpuRuntime& run, const A* weight, const A* in, A* out, int64_t pictures, int64_t outputs,
           int64_t inputs) {
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
