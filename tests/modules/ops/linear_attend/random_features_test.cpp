#include "modules/ops/linear_attend/random_features.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "modules/core/error.h"
#include "modules/ops/linear_attend/linear_attend.h"
#include "tests/modules/ops/linear_attend/linear_attend_reference.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

using ops::FeatureMap;
using ops::orthogonal_projection;

TEST(OrthogonalProjection, rows_of_a_block_are_orthogonal) {
  for (const auto& [features, width] :
       {std::pair<int64_t, int64_t>{1, 1}, {5, 8}, {8, 8}, {20, 8}, {64, 7}}) {
    const at::Tensor projection = orthogonal_projection(features, width, 3);
    EXPECT_EQ(projection.sizes(), at::IntArrayRef({features, width}));
    EXPECT_EQ(projection.scalar_type(), at::kFloat);
    for (int64_t first = 0; first < features; first += width) {
      const int64_t rows = std::min(width, features - first);
      const at::Tensor block = projection.narrow(0, first, rows).to(at::kDouble);
      const at::Tensor products = at::matmul(block, block.t());
      EXPECT_LT((products - at::diag(products.diagonal())).abs().max().item<double>(), 1e-5);
    }
  }
}

TEST(OrthogonalProjection, is_settled_by_the_seed) {
  const at::Tensor one = orthogonal_projection(10, 4, 1);
  torch::manual_seed(5);
  EXPECT_TRUE(at::equal(one, orthogonal_projection(10, 4, 1)));
  EXPECT_FALSE(at::equal(one, orthogonal_projection(10, 4, 2)));
}

// Mean 0, second moments the identity, |w|² of mean D and variance 2 D, within 5 standard errors of 2000
// independent blocks: of a coordinate, a product of two, and |w|².
TEST(OrthogonalProjection, rows_are_distributed_as_gaussians) {
  const int64_t D = 3, blocks = 2000;
  at::Tensor first = at::empty({blocks, D}, at::kDouble), last = at::empty({blocks, D}, at::kDouble);
  for (int64_t i = 0; i < blocks; ++i) {
    const at::Tensor block = orthogonal_projection(D, D, static_cast<uint64_t>(i)).to(at::kDouble);
    first[i] = block[0];
    last[i] = block[D - 1];
  }
  const double error = 1 / std::sqrt(double(blocks));
  for (const at::Tensor& rows : {first, last}) {
    EXPECT_LT(rows.mean(0).abs().max().item<double>(), 5 * error);
    const at::Tensor moments = at::matmul(rows.t(), rows) / double(blocks);
    EXPECT_LT((moments - at::eye(D, at::kDouble)).abs().max().item<double>(), 5 * std::sqrt(2.0) * error);
    const at::Tensor lengths = rows.square().sum(1);
    EXPECT_NEAR(lengths.mean().item<double>(), double(D), 5 * std::sqrt(2.0 * D) * error);
    // Var(χ²_D) = 2 D; its sample variance has variance (μ4 - μ2²) / blocks, μ4 = 12 D (D + 4).
    EXPECT_NEAR(lengths.var().item<double>(), 2.0 * D,
                5 * std::sqrt(12.0 * D * (D + 4) - 4.0 * D * D) * error);
  }
}

TEST(OrthogonalProjection, names_wrong_sizes) {
  EXPECT_THROWS_WITH(orthogonal_projection(0, 4, 1), ArgumentError,
                     "[orthogonal_projection] expected features and width >= 1; got features 0, width 4");
  EXPECT_THROWS_WITH(orthogonal_projection(4, 0, 1), ArgumentError,
                     "[orthogonal_projection] expected features and width >= 1; got features 4, width 0");
}

struct Approximation {
  double error, bound;  // root mean squares over projections, queries and columns
};

// Against softmax attention, a scalar at a time. With K_s = exp(x·y_s), an estimate K_s (1 + e_s) has e_s of
// mean 0 and, for independent features, variance (exp(|x + y_s|²) - 1) / M (Choromanski et al. 2021, lemma
// 2); orthogonal features have no more (theorem 2). To first order the output is off by Σ_s w_s e_s (v_s -
// output), whose root mean square is at most Σ_s w_s √Var(e_s) |v_s - output| (Cauchy-Schwarz, whatever the
// e_s of different keys have in common).
Approximation approximate(int64_t M, int64_t D, int64_t projections) {
  const int64_t T = 6, S = 10, V = 3;
  torch::manual_seed(11);
  const at::Tensor q = at::randn({1, 1, T, D}, at::kDouble) / 2, k = at::randn({1, 1, S, D}, at::kDouble) / 2,
                   v = at::randn({1, 1, S, V}, at::kDouble);
  const double scale = 1 / std::sqrt(double(D));
  at::Tensor expected = at::zeros({T, V}, at::kDouble);
  double bound = 0;
  for (int64_t t = 0; t < T; ++t) {
    std::vector<double> weights(S), deviations(S);
    double sum = 0;
    for (int64_t s = 0; s < S; ++s) {
      double dot = 0, square = 0;
      for (int64_t d = 0; d < D; ++d) {
        const double x = q[0][0][t][d].item<double>(), y = k[0][0][s][d].item<double>();
        dot += x * y * scale;
        square += (x + y) * (x + y) * scale;
      }
      sum += weights[s] = std::exp(dot);
      deviations[s] = std::sqrt((std::exp(square) - 1) / double(M));
    }
    for (int64_t c = 0; c < V; ++c) {
      double output = 0, deviation = 0;
      for (int64_t s = 0; s < S; ++s) output += weights[s] / sum * v[0][0][s][c].item<double>();
      for (int64_t s = 0; s < S; ++s)
        deviation += weights[s] / sum * deviations[s] * std::abs(v[0][0][s][c].item<double>() - output);
      expected[t][c] = output;
      bound += deviation * deviation / double(T * V);
    }
  }
  double squares = 0;
  for (int64_t seed = 0; seed < projections; ++seed) {
    ops::LinearAttendOptions options;
    options.map = FeatureMap::positive_random;
    options.projection = orthogonal_projection(M, D, static_cast<uint64_t>(100 + seed));
    const at::Tensor off = ops::linear_attend(q, k, v, {}, options)[0][0] - expected;
    squares += off.square().mean().item<double>() / double(projections);
  }
  return {std::sqrt(squares), std::sqrt(bound)};
}

TEST(PositiveRandomFeatures, come_near_softmax_attention) {
  for (const int64_t D : {1, 2, 4}) {
    const Approximation got = approximate(4096, D, 30);
    EXPECT_LE(got.error, got.bound) << "D " << D;
    EXPECT_LE(got.bound, 0.1) << "D " << D << ": too loose a bound to mean anything";
    RecordProperty(fmt::format("error_{}", D), fmt::format("{} of {}", got.error, got.bound));
  }
}

// The error is as 1 / √M: 64 times the features make it an eighth, within a quarter for 60 projections.
TEST(PositiveRandomFeatures, errors_fall_with_the_root_of_their_number) {
  const double few = approximate(64, 2, 60).error, many = approximate(4096, 2, 60).error;
  EXPECT_NEAR(few / many, 8, 2);
  RecordProperty("ratio", fmt::format("{}", few / many));
}

// Rows of q and k that attention in float64 tells apart only by differences of exponents near 1e4.
TEST(PositiveRandomFeatures, are_shifted_by_the_largest_exponent_of_each_feature) {
  torch::manual_seed(12);
  const at::Tensor q = at::randn({1, 1, 5, 4}, at::kDouble) * 30,
                   k = at::randn({1, 1, 70, 4}, at::kDouble) * 30;
  const at::Tensor v = at::randn({1, 1, 70, 2}, at::kDouble);
  for (const bool causal : {false, true}) {
    ops::LinearAttendOptions options;
    options.map = FeatureMap::positive_random;
    options.causal = causal;
    options.projection = orthogonal_projection(16, 4, 1);
    test::expect_near(ops::linear_attend(q, k, v, {}, options),
                      test::linear_attend_reference(q, k, v, {}, options), 1e-10,
                      fmt::format("causal {}", causal));
  }
}

}  // namespace
}  // namespace gaze
