#include "modules/attention/cbam.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/core/attention_map.h"
#include "tests/modules/attention/block_contract.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

CbamOptions options_for(int64_t channels, int64_t reduction = 16, int64_t kernel = 7) {
  CbamOptions options;
  options.channels = channels;
  options.reduction = reduction;
  options.kernel = kernel;
  return options;
}

struct Paper {
  torch::Tensor channel;  // [B, C]
  torch::Tensor spatial;  // [B, H, W]
  torch::Tensor output;
  double mean, variance;
};

// The paper's two formulas, a scalar at a time, from the module's own state.
Paper paper(const CbamImpl& cbam, const torch::Tensor& x_any, bool batch_statistics) {
  const auto parameters = cbam.named_parameters();
  const auto wide = [](const torch::Tensor& x) { return x.detach().to(torch::kDouble).contiguous(); };
  const torch::Tensor x = wide(x_any), w1 = wide(parameters["channel.fc1.weight"]),
                      b1 = wide(parameters["channel.fc1.bias"]);
  const torch::Tensor w2 = wide(parameters["channel.fc2.weight"]), b2 = wide(parameters["channel.fc2.bias"]);
  const torch::Tensor kernel = wide(parameters["spatial.conv.weight"]);
  const int64_t B = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), R = w1.size(0),
                K = kernel.size(2);
  const auto in = x.accessor<double, 4>(), w1_at = w1.accessor<double, 4>(), w2_at = w2.accessor<double, 4>();
  const auto k_at = kernel.accessor<double, 4>();
  Paper result{torch::empty({B, C}, torch::kDouble), torch::empty({B, H, W}, torch::kDouble), x.clone(), 0,
               0};
  auto channel = result.channel.accessor<double, 2>();
  auto spatial = result.spatial.accessor<double, 3>();
  auto out = result.output.accessor<double, 4>();
  for (int64_t b = 0; b < B; ++b) {
    std::vector<double> mean(C, 0), largest(C, -1e300), logits(C, 0);
    for (int64_t c = 0; c < C; ++c)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t w = 0; w < W; ++w) {
          mean[c] += in[b][c][h][w] / double(H * W);
          largest[c] = std::max(largest[c], in[b][c][h][w]);
        }
    for (const auto& squeezed : {mean, largest})
      for (int64_t c = 0; c < C; ++c) {
        logits[c] += b2[c].item<double>();
        for (int64_t r = 0; r < R; ++r) {
          double hidden = b1[r].item<double>();
          for (int64_t i = 0; i < C; ++i) hidden += w1_at[r][i][0][0] * squeezed[i];
          logits[c] += w2_at[c][r][0][0] * std::max(hidden, 0.0);
        }
      }
    for (int64_t c = 0; c < C; ++c) {
      channel[b][c] = 1 / (1 + std::exp(-logits[c]));
      for (int64_t h = 0; h < H; ++h)
        for (int64_t w = 0; w < W; ++w) out[b][c][h][w] *= channel[b][c];
    }
  }
  double sum = 0, squares = 0;
  const auto count = double(B * H * W);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t w = 0; w < W; ++w) {
        double a = 0;
        for (int64_t i = 0; i < K; ++i)
          for (int64_t j = 0; j < K; ++j) {
            const int64_t row = h + i - K / 2, column = w + j - K / 2;
            if (row < 0 || row >= H || column < 0 || column >= W) continue;
            double largest = -1e300, mean = 0;
            for (int64_t c = 0; c < C; ++c) {
              largest = std::max(largest, out[b][c][row][column]);
              mean += out[b][c][row][column] / double(C);
            }
            a += k_at[0][0][i][j] * largest + k_at[0][1][i][j] * mean;
          }
        spatial[b][h][w] = a;
        sum += a / count;
      }
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t w = 0; w < W; ++w) squares += (spatial[b][h][w] - sum) * (spatial[b][h][w] - sum) / count;
  const auto buffers = cbam.named_buffers();
  result.mean = batch_statistics ? sum : buffers["spatial.bn.running_mean"].item<double>();
  result.variance = batch_statistics ? squares : buffers["spatial.bn.running_var"].item<double>();
  const double gamma = parameters["spatial.bn.weight"].item<double>(),
               beta = parameters["spatial.bn.bias"].item<double>();
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t w = 0; w < W; ++w) {
        const double normed = (spatial[b][h][w] - result.mean) / std::sqrt(result.variance + 1e-5);
        spatial[b][h][w] = 1 / (1 + std::exp(-(gamma * normed + beta)));
        for (int64_t c = 0; c < C; ++c) out[b][c][h][w] *= spatial[b][h][w];
      }
  return result;
}

TEST(Cbam, is_the_papers_formula_in_both_modes) {
  torch::manual_seed(1);
  for (const bool training : {true, false}) {
    Cbam cbam(options_for(6, 2, 5));
    test::randomise(*cbam);
    cbam->train(training);
    cbam->named_buffers()["spatial.bn.running_mean"].fill_(0.3);
    cbam->named_buffers()["spatial.bn.running_var"].fill_(1.7);
    const torch::Tensor x = torch::randn({2, 6, 5, 4});
    const Paper expected = paper(*cbam, x, training);
    MapRecorder recorder;
    test::expect_near(cbam->forward(x), expected.output, 1e-5, training ? "training" : "evaluation");
    ASSERT_EQ(recorder.maps().size(), 2U);
    EXPECT_EQ(recorder.maps()[0].name, "channel");
    EXPECT_EQ(recorder.maps()[0].kind, AttentionMap::Kind::channel);
    test::expect_near(recorder.maps()[0].values, expected.channel, 1e-5, "channel");
    EXPECT_EQ(recorder.maps()[1].name, "spatial");
    EXPECT_EQ(recorder.maps()[1].kind, AttentionMap::Kind::spatial);
    test::expect_near(recorder.maps()[1].values, expected.spatial, 1e-5, "spatial");
    // Momentum 0.01, unbiased variance of 2·5·4 cells; evaluation leaves both alone.
    const double kept = training ? 0.99 : 1, taken = training ? 0.01 : 0;
    const auto buffers = cbam->named_buffers();
    EXPECT_NEAR(buffers["spatial.bn.running_mean"].item<double>(), kept * 0.3 + taken * expected.mean, 1e-6);
    EXPECT_NEAR(buffers["spatial.bn.running_var"].item<double>(),
                kept * 1.7 + taken * expected.variance * 40 / 39, 1e-6);
    EXPECT_EQ(buffers["spatial.bn.num_batches_tracked"].item<int64_t>(), training ? 1 : 0);
  }
}

// In training against LibTorch's own layers, gradients too.
TEST(Cbam, gradients_agree_with_torchs_layers) {
  torch::manual_seed(2);
  Cbam cbam(options_for(6, 2, 3));
  test::randomise(*cbam);
  cbam->to(torch::kDouble);
  const auto p = cbam->named_parameters();
  const torch::Tensor x = torch::randn({3, 6, 4, 5}, torch::kDouble),
                      weights = torch::randn({3, 6, 4, 5}, torch::kDouble);
  const auto layers = [&](const torch::Tensor& squeezed) {
    const torch::Tensor hidden =
        torch::relu(torch::conv2d(squeezed, p["channel.fc1.weight"], p["channel.fc1.bias"]));
    return torch::conv2d(hidden, p["channel.fc2.weight"], p["channel.fc2.bias"]);
  };
  const torch::Tensor u = x * torch::sigmoid(layers(torch::adaptive_avg_pool2d(x, {1, 1})) +
                                             layers(std::get<0>(torch::adaptive_max_pool2d(x, {1, 1}))));
  const torch::Tensor planes = torch::cat({std::get<0>(u.max(1, true)), u.mean(1, true)}, 1);
  const torch::Tensor normed =
      torch::batch_norm(torch::conv2d(planes, p["spatial.conv.weight"], {}, 1, 1), p["spatial.bn.weight"],
                        p["spatial.bn.bias"], {}, {}, true, 0.01, 1e-5, false);
  const torch::Tensor expected = u * torch::sigmoid(normed);
  const std::vector<torch::Tensor> parameters = cbam->parameters();
  const auto gradients = torch::autograd::grad({(cbam->forward(x) * weights).sum()}, parameters);
  const auto expected_gradients = torch::autograd::grad({(expected * weights).sum()}, parameters);
  for (size_t i = 0; i < parameters.size(); ++i) {
    test::expect_near(gradients[i], expected_gradients[i], 1e-10, p[i].key());
  }
}

TEST(Cbam, starts_as_the_authors_do) {
  Cbam cbam(options_for(32));
  const auto parameters = cbam->named_parameters();
  EXPECT_EQ(parameters["spatial.bn.weight"].item<float>(), 0.0F);
  EXPECT_EQ(parameters["spatial.bn.bias"].item<float>(), 0.0F);
  EXPECT_TRUE(torch::equal(parameters["channel.fc1.bias"], torch::zeros({2})));
  EXPECT_TRUE(torch::equal(parameters["channel.fc2.bias"], torch::zeros({32})));
  MapRecorder recorder;
  cbam->forward(torch::randn({2, 32, 4, 4}));
  EXPECT_TRUE(torch::equal(recorder.maps()[1].values, torch::full({2, 4, 4}, 0.5)));
}

TEST(Cbam, a_single_cell_in_training_uses_and_keeps_the_running_statistics) {
  Cbam cbam(options_for(8, 2));
  test::randomise(*cbam);
  cbam->named_buffers()["spatial.bn.running_mean"].fill_(0.3);
  const torch::Tensor x = torch::randn({1, 8, 1, 1}).requires_grad_(true);
  const torch::Tensor y = cbam->forward(x);
  EXPECT_NEAR(cbam->named_buffers()["spatial.bn.running_mean"].item<float>(), 0.3F, 1e-7F);
  y.sum().backward();
  EXPECT_TRUE(torch::isfinite(x.grad()).all().item<bool>());
  cbam->eval();
  EXPECT_TRUE(torch::equal(cbam->forward(x), y));
}

TEST(Cbam, state_keys_and_shapes) {
  Cbam cbam(options_for(64));
  EXPECT_EQ(test::keys_of(*cbam),
            (std::vector<std::string>{"channel.fc1.weight", "channel.fc1.bias", "channel.fc2.weight",
                                      "channel.fc2.bias", "spatial.conv.weight", "spatial.bn.weight",
                                      "spatial.bn.bias", "spatial.bn.running_mean", "spatial.bn.running_var",
                                      "spatial.bn.num_batches_tracked"}));
  const auto parameters = cbam->named_parameters();
  EXPECT_EQ(parameters["channel.fc1.weight"].sizes(), torch::IntArrayRef({4, 64, 1, 1}));
  EXPECT_EQ(parameters["channel.fc2.weight"].sizes(), torch::IntArrayRef({64, 4, 1, 1}));
  EXPECT_EQ(parameters["spatial.conv.weight"].sizes(), torch::IntArrayRef({1, 2, 7, 7}));
  EXPECT_EQ(
      test::keys_of(*test::block_of("cbam(bias=false, norm=false, init=identity)", 64)),
      (std::vector<std::string>{"mix", "channel.fc1.weight", "channel.fc2.weight", "spatial.conv.weight"}));
}

TEST(Cbam, counts_match_the_published) {
  EXPECT_EQ(test::added_to_resnet50("cbam"), 28089624 - 25557032);
  EXPECT_EQ(test::added_to_resnet50("cbam(bias=false, order=mean_max)"), 28073576 - 25557032);  // timm's
  EXPECT_EQ(test::added_to_resnet18("cbam"), 11779392 - 11689512);
  // Layers for mean and maximum 2·(64·4 + 4·64), convolution 2·49·35, products 2·64·35.
  EXPECT_EQ(test::block_of("cbam", 64)->macs(7, 5), 1024 + 3430 + 4480);
}

}  // namespace
}  // namespace gaze
