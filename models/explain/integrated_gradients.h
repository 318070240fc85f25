// Integrated gradients (Sundararajan et al. 2017).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/explain/score.h"

namespace gaze::models {

struct IntegratedGradientsOptions {
  int64_t steps = 50;  // nodes of the Gauss-Legendre rule on [0, 1]
  int64_t batch = 8;   // points of the path in one pass
};

struct IntegratedGradients {
  at::Tensor attributions;  // [K, 3, H, W], (x - x0) times the mean gradient on the straight way from x0 to x
  at::Tensor scores, baseline_scores;  // [K], of x and of x0
  // [K]: |sum of attributions - (score - baseline score)|, what the rule missed
  at::Tensor gap;
};

// Of each score. x, baseline [1, 3, H, W]; an undefined baseline is zero, the mean colour of normalised
// pictures. Throws ArgumentError for steps or batch below 1 and for a baseline of another shape.
IntegratedGradients integrated_gradients(const Scores& scores, const at::Tensor& x,
                                         const at::Tensor& baseline = {},
                                         const IntegratedGradientsOptions& options = {});

}  // namespace gaze::models
