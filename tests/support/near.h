// Comparing tensors with expected values in float64.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace gaze::test {

// Largest |got - expected| / max(1, max |expected|). Infinite where shapes differ or one side is not a
// number.
inline double relative_error(const at::Tensor& got, const at::Tensor& expected) {
  if (got.sizes() != expected.sizes()) return std::numeric_limits<double>::infinity();
  if (got.numel() == 0) return 0;
  const at::Tensor wide = expected.detach().to(at::kDouble);
  const at::Tensor difference = (got.detach().to(at::kDouble) - wide).abs();
  const double largest = difference.max().item<double>();
  if (!std::isfinite(largest)) return std::numeric_limits<double>::infinity();
  return largest / std::max(1.0, wide.abs().max().item<double>());
}

inline void expect_near(const at::Tensor& got, const at::Tensor& expected, double bound,
                        const std::string& context) {
  EXPECT_EQ(got.sizes(), expected.sizes()) << context;
  EXPECT_LE(relative_error(got, expected), bound) << context;
}

}  // namespace gaze::test
