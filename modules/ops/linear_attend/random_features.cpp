#include "modules/ops/linear_attend/random_features.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include <cmath>

#include "modules/core/check.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace ops {

at::Tensor orthogonal_projection(int64_t features, int64_t width, uint64_t seed) {
  check_that(features >= 1 && width >= 1, "orthogonal_projection", "features and width >= 1",
             fmt::format("features {}, width {}", features, width));
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  const auto gaussian = [&](at::IntArrayRef sizes) { return at::randn(sizes, generator, at::kDouble); };
  const int64_t blocks = (features + width - 1) / width;
  const auto [q, r] = at::linalg_qr(gaussian({blocks, width, width}));  // both [blocks, D, D]
  // Signs that make r's diagonal positive: then q is uniform among rotations and reflections.
  const at::Tensor signs = r.diagonal(0, 1, 2).sgn().unsqueeze(1);                      // [blocks, 1, D]
  const at::Tensor directions = (q * signs).flatten(0, 1).narrow(0, 0, features);       // [M, D]
  return (directions * gaussian({features, width}).norm(2, {1}, true)).to(at::kFloat);  // [M, D]
}

}  // namespace ops

namespace detail {

at::Tensor random_feature_logits(const at::Tensor& x, const at::Tensor& projection, double scale, bool keys) {
  const at::ScalarType dtype = statistics_dtype(x.scalar_type());
  const at::Tensor y = x.to(dtype) * std::sqrt(scale);
  const at::Tensor logits = at::matmul(y, projection.to(dtype).t());  // [B, N, T, M]
  return keys ? logits - y.square().sum(3, true) / 2 : logits;
}

}  // namespace detail
}  // namespace gaze
