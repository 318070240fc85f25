#include "modules/attention/eca.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/modules/attention/block_contract.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

EcaOptions options_for(int64_t channels, int64_t kernel = 0) {
  EcaOptions options;
  options.channels = channels;
  options.kernel = kernel;
  return options;
}

TEST(Eca, known_numbers) {
  Eca eca(options_for(3, 3));
  const torch::NoGradGuard guard;
  eca->named_parameters()["conv.weight"].copy_(torch::tensor({1.0F, 2.0F, -1.0F}).view({1, 1, 3}));
  // Means 1, 2, 3; the neighbours of the first and the last outside count 0.
  const torch::Tensor x = torch::tensor({0.0F, 2.0F, 1.0F, 3.0F, 2.0F, 4.0F}).view({1, 3, 1, 2});
  const torch::Tensor logits = torch::tensor({2.0 * 1 - 2, 1.0 + 2 * 2 - 3, 2.0 + 2 * 3});
  const torch::Tensor gate = 1 / (1 + torch::exp(-logits.to(torch::kDouble)));  // 0.5, 0.881, 0.99966
  test::expect_near(eca->forward(x), x * gate.view({1, 3, 1, 1}), 1e-6, "known");
}

TEST(Eca, is_the_papers_formula) {
  torch::manual_seed(1);
  for (const int64_t kernel : {1, 3, 5, 9}) {  // 9 reaches beyond both ends of 6 channels
    Eca eca(options_for(6, kernel));
    test::randomise(*eca);
    const torch::Tensor x = torch::randn({2, 6, 3, 5}), weight = eca->named_parameters()["conv.weight"];
    torch::Tensor expected = x.to(torch::kDouble).clone();
    for (int64_t b = 0; b < 2; ++b) {
      double mean[6] = {};
      for (int64_t c = 0; c < 6; ++c)
        for (int64_t h = 0; h < 3; ++h)
          for (int64_t w = 0; w < 5; ++w) mean[c] += x[b][c][h][w].item<double>() / 15;
      for (int64_t c = 0; c < 6; ++c) {
        double logit = 0;
        for (int64_t i = 0; i < kernel; ++i) {
          const int64_t at = c + i - kernel / 2;
          if (at >= 0 && at < 6) logit += weight[0][0][i].item<double>() * mean[at];
        }
        expected[b][c].mul_(1 / (1 + std::exp(-logit)));
      }
    }
    test::expect_near(eca->forward(x), expected, 1e-6, fmt::format("kernel {}", kernel));
  }
}

// timm 1.0: EcaModule(channels).conv.kernel_size.
TEST(Eca, takes_its_kernel_from_the_channels_as_timm_does) {
  for (const auto& [channels, kernel] : std::vector<std::pair<int64_t, int64_t>>{{1, 3},
                                                                                 {8, 3},
                                                                                 {16, 3},
                                                                                 {31, 3},
                                                                                 {32, 3},
                                                                                 {64, 3},
                                                                                 {127, 3},
                                                                                 {128, 5},
                                                                                 {256, 5},
                                                                                 {511, 5},
                                                                                 {512, 5},
                                                                                 {1024, 5},
                                                                                 {2048, 7},
                                                                                 {8192, 7}}) {
    EXPECT_EQ(Eca(options_for(channels))->options().kernel, kernel) << channels;
    EXPECT_EQ(Eca(options_for(channels))->named_parameters()["conv.weight"].sizes(),
              torch::IntArrayRef({1, 1, kernel}));
  }
}

TEST(Eca, keys_and_counts) {
  EXPECT_EQ(test::keys_of(*test::block_of("eca", 64)), (std::vector<std::string>{"conv.weight"}));
  EXPECT_EQ(test::keys_of(*test::block_of("eca(init=identity)", 64)),
            (std::vector<std::string>{"mix", "conv.weight"}));
  EXPECT_EQ(test::added_to_resnet50("eca"), 86);  // timm's ecaresnet50 has so many more than its resnet50
  EXPECT_EQ(test::block_of("eca", 64)->macs(7, 5), 64 * 3 + 64 * 35);
}

// A mean over many cells that bfloat16 could not add up.
TEST(Eca, sums_in_float32) {
  Eca eca(options_for(1, 1));
  const torch::NoGradGuard guard;
  eca->named_parameters()["conv.weight"].fill_(1);
  eca->to(torch::kBFloat16);
  const torch::Tensor y = eca->forward(torch::ones({1, 1, 200, 200}, torch::kBFloat16));
  EXPECT_NEAR(y[0][0][0][0].item<float>(), 0.7310586F, 2e-3F);
}

}  // namespace
}  // namespace gaze
