// What positive random features of linear_attend are made of. Choromanski et al. 2021, sections 2.3 and 2.4.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace gaze::ops {

// Rows w_m ~ N(0, I), those of each block of D rows orthogonal to each other: directions from the QR
// decomposition of Gaussian blocks, lengths from other Gaussian rows.
//
//   features M >= 1, width D >= 1
//   -> [M, D] float32 on the CPU; the same for the same seed
//
// Throws ArgumentError for sizes below 1.
at::Tensor orthogonal_projection(int64_t features, int64_t width, uint64_t seed);

}  // namespace gaze::ops

namespace gaze::detail {

// The logarithms of the features of x [B, N, T, D], but for terms that cancel in linear_attend:
//   x_m = w_m·y - |y|²/2 for keys, w_m·y for queries, y = √scale · x
//   projection [M, D], floating
//   -> [B, N, T, M], float32, or float64 for a float64 x
at::Tensor random_feature_logits(const at::Tensor& x, const at::Tensor& projection, double scale, bool keys);

}  // namespace gaze::detail
