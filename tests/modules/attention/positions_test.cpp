#include "modules/attention/positions.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

double at(const torch::Tensor& x, int64_t row, int64_t column) {
  return x[row][column].item<double>();
}

TEST(SinusoidalPositions, are_the_paper_s_formula) {
  const torch::Tensor p = sinusoidal_positions(3, 5, 12);
  ASSERT_EQ(p.sizes(), (std::vector<int64_t>{5, 12}));
  for (int64_t t = 0; t < 5; ++t) {
    for (int64_t i = 0; i < 6; ++i) {
      const double angle =
          static_cast<double>(3 + t) / std::pow(10000.0, 2.0 * static_cast<double>(i) / 12.0);
      EXPECT_NEAR(at(p, t, 2 * i), std::sin(angle), 1e-6);
      EXPECT_NEAR(at(p, t, 2 * i + 1), std::cos(angle), 1e-6);
    }
  }
}

TEST(GridPositions, are_the_stated_formula) {
  const int64_t rows = 3, columns = 5, width = 16, F = 4;
  const torch::Tensor p = grid_positions(rows, columns, width);
  ASSERT_EQ(p.sizes(), (std::vector<int64_t>{15, 16}));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t i = 0; i < F; ++i) {
        const double turn = 2 * M_PI * 0.5 * std::pow(8.0, static_cast<double>(i) / 3.0);
        const double y = (static_cast<double>(r) + 0.5) / 3, x = (static_cast<double>(c) + 0.5) / 5;
        EXPECT_NEAR(at(p, r * columns + c, i), std::sin(turn * y), 1e-6);
        EXPECT_NEAR(at(p, r * columns + c, F + i), std::cos(turn * y), 1e-6);
        EXPECT_NEAR(at(p, r * columns + c, 2 * F + i), std::sin(turn * x), 1e-6);
        EXPECT_NEAR(at(p, r * columns + c, 3 * F + i), std::cos(turn * x), 1e-6);
      }
    }
  }
}

// The numbers of DETR's and CATR's PositionEmbeddingSine, by its formula in float64.
TEST(GridSinusoidalPositions, are_the_stated_formula) {
  const int64_t rows = 3, columns = 5, width = 16, F = 8;
  const torch::Tensor p = grid_sinusoidal_positions(rows, columns, width);
  ASSERT_EQ(p.sizes(), (std::vector<int64_t>{15, 16}));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const double y = static_cast<double>(r + 1) / (3 + 1e-6) * 2 * M_PI,
                   x = static_cast<double>(c + 1) / (5 + 1e-6) * 2 * M_PI;
      for (int64_t j = 0; j < F; ++j) {
        const double rate = std::pow(10000.0, 2.0 * static_cast<double>(j / 2) / static_cast<double>(F));
        EXPECT_NEAR(at(p, r * columns + c, j), j % 2 == 0 ? std::sin(y / rate) : std::cos(y / rate), 1e-6);
        EXPECT_NEAR(at(p, r * columns + c, F + j), j % 2 == 0 ? std::sin(x / rate) : std::cos(x / rate),
                    1e-6);
      }
    }
  }
  EXPECT_THROWS_WITH(grid_sinusoidal_positions(2, 2, 6), ArgumentError,
                     "[grid_sinusoidal_positions] expected a width that is a multiple of 4; got width 6");
}

TEST(GridPositions, of_one_place_are_the_same_on_every_grid) {
  // The centre of a 3 x 3, a 7 x 5 and a 1 x 1 grid.
  const torch::Tensor centre = grid_positions(1, 1, 32)[0];
  EXPECT_LT((grid_positions(3, 3, 32)[4] - centre).abs().max().item<double>(), 1e-6);
  EXPECT_LT((grid_positions(7, 5, 32)[3 * 5 + 2] - centre).abs().max().item<double>(), 1e-6);
}

TEST(GridPositions, tell_all_cells_apart) {
  const torch::Tensor p = grid_positions(14, 14, 64);
  const torch::Tensor distance = torch::cdist(p, p) + 1e3 * torch::eye(196);
  EXPECT_GT(distance.min().item<double>(), 0.5);
}

TEST(GridPositions, width_4_has_one_frequency) {
  EXPECT_TRUE(grid_positions(2, 2, 4).isfinite().all().item<bool>());
}

TEST(LearnedPositions, add_the_rows_of_their_places) {
  LearnedPositions positions(6, 3);
  const torch::Tensor table = positions->named_parameters()["weight"], x = torch::randn({2, 4, 3});
  const torch::Tensor got = positions->forward(x, 1);
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 0; t < 4; ++t)
      for (int64_t d = 0; d < 3; ++d)
        EXPECT_FLOAT_EQ(got[b][t][d].item<float>(), x[b][t][d].item<float>() + table[t + 1][d].item<float>());
  got.sum().backward();
  EXPECT_EQ(table.grad().sum().item<float>(), 2 * 4 * 3);
  EXPECT_EQ(table.grad()[0].abs().sum().item<float>(), 0);
}

// A score at a time: what q at (i, j) thinks of a key at (k, l), distances of L and more as L - 1.
TEST(GridDistances, are_the_stated_formula) {
  torch::manual_seed(3);
  const int64_t rows = 3, columns = 5, width = 4, L = 3;
  GridDistances distances(L, width);
  for (torch::Tensor& table : distances->parameters()) torch::nn::init::normal_(table);
  const auto named = distances->named_parameters();
  const torch::Tensor q = torch::randn({2, 2, rows * columns, width});
  const GridBiases biases = distances->forward(q, rows, columns);
  ASSERT_EQ(biases.rows.sizes(), (std::vector<int64_t>{2, 2, 15, 3}));
  ASSERT_EQ(biases.columns.sizes(), (std::vector<int64_t>{2, 2, 15, 5}));
  const auto entry = [](int64_t key, int64_t query) {
    return L - 1 + std::max<int64_t>(-(L - 1), std::min<int64_t>(L - 1, key - query));
  };
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t t = 0; t < rows * columns; ++t) {
        for (int64_t k = 0; k < rows; ++k)
          EXPECT_NEAR(biases.rows[b][n][t][k].item<double>(),
                      q[b][n][t].dot(named["row"][entry(k, t / columns)]).item<double>(), 1e-5);
        for (int64_t l = 0; l < columns; ++l)
          EXPECT_NEAR(biases.columns[b][n][t][l].item<double>(),
                      q[b][n][t].dot(named["column"][entry(l, t % columns)]).item<double>(), 1e-5);
      }
}

TEST(Positions, mistakes_are_told) {
  EXPECT_THROWS_WITH(GridDistances(0, 4), ArgumentError,
                     "[grid_distances] expected distances and width >= 1; got distances 0, width 4");
  EXPECT_THROWS_WITH(GridDistances(2, 4)->forward(torch::zeros({1, 1, 7, 4}), 2, 3), ArgumentError,
                     "[grid_distances] expected q [B, N, rows * columns=6, D=4]; got q [1, 1, 7, 4]");
  EXPECT_THROWS_WITH(sinusoidal_positions(0, 3, 5), ArgumentError,
                     "[sinusoidal_positions] expected an even width; got width 5");
  EXPECT_THROWS_WITH(grid_positions(2, 2, 6), ArgumentError,
                     "[grid_positions] expected a width that is a multiple of 4; got width 6");
  LearnedPositions positions(4, 3);
  EXPECT_THROWS_WITH(positions->forward(torch::zeros({1, 3, 3}), 2), ArgumentError,
                     "[learned_positions] expected places in 0 .. 3; got places 2 .. 4");
  EXPECT_THROWS_WITH(positions->forward(torch::zeros({1, 3, 2})), ArgumentError,
                     "[learned_positions] expected x [B, T, D=3]; got x [1, 3, 2]");
}

}  // namespace
}  // namespace gaze
