// CBAM's halves alone.
#include "modules/attention/cam.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/attention/cbam.h"
#include "modules/attention/sam.h"
#include "tests/modules/attention/block_contract.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

// Copies the state of `whole` below `prefix` into `part`.
void take(torch::nn::Module& part, const torch::nn::Module& whole, const std::string& prefix) {
  const torch::NoGradGuard guard;
  for (auto& item : part.named_parameters())
    item.value().copy_(whole.named_parameters()[prefix + item.key()]);
  for (auto& item : part.named_buffers()) item.value().copy_(whole.named_buffers()[prefix + item.key()]);
}

TEST(Cam, and_sam_in_a_row_are_cbam) {
  torch::manual_seed(1);
  for (const char* rest : {"", ", bias=false", ", norm=false", ", order=mean_max"}) {
    const std::string options = rest;
    const bool spatial = options.find("bias") == std::string::npos;
    const auto cbam = test::block_of("cbam(reduction=2, kernel=3" + options + ")", 6);
    const auto cam = test::block_of("cam(reduction=2" + (spatial ? "" : options) + ")", 6);
    const auto sam = test::block_of("sam(kernel=3" + (spatial ? options : "") + ")", 6);
    test::randomise(*cbam);
    take(*cam, *cbam, "channel.");
    take(*sam, *cbam, "spatial.");
    const torch::Tensor x = torch::randn({2, 6, 5, 4}), shortcut = torch::randn({2, 6, 5, 4});
    for (const bool training : {true, false}) {
      for (const auto& block : {cbam, cam, sam}) block->train(training);
      test::expect_near(sam->forward(cam->forward(x)), cbam->forward(x), 1e-6, options);
      test::expect_near(sam->forward_to_end(cam->forward(x), shortcut), cbam->forward_to_end(x, shortcut),
                        1e-6, options);
    }
    if (!sam->named_buffers().contains("bn.running_mean")) continue;
    for (const char* name : {"running_mean", "running_var", "num_batches_tracked"}) {
      const std::string key = std::string("bn.") + name;
      test::expect_near(sam->named_buffers()[key], cbam->named_buffers()["spatial." + key], 1e-6, name);
    }
  }
}

TEST(Cam, keys_start_and_counts) {
  const auto cam = test::block_of("cam", 64);
  EXPECT_EQ(test::keys_of(*cam), test::keys_of(*test::block_of("se", 64)));
  EXPECT_EQ(cam->named_parameters()["fc1.bias"].abs().max().item<float>(), 0);
  EXPECT_EQ(cam->named_parameters()["fc2.bias"].abs().max().item<float>(), 0);
  EXPECT_EQ(cam->parameter_count(), 64 * 4 + 4 + 4 * 64 + 64);
  EXPECT_EQ(cam->macs(7, 5), 2 * 512 + 64 * 35);
}

TEST(Sam, keys_start_and_counts) {
  const auto sam = test::block_of("sam", 64);
  EXPECT_EQ(test::keys_of(*sam),
            (std::vector<std::string>{"conv.weight", "bn.weight", "bn.bias", "bn.running_mean",
                                      "bn.running_var", "bn.num_batches_tracked"}));
  EXPECT_EQ(sam->parameter_count(), 98 + 2);
  EXPECT_EQ(sam->macs(7, 5), 98 * 35 + 64 * 35);
  const torch::Tensor x = torch::randn({2, 64, 3, 3});
  EXPECT_TRUE(torch::equal(sam->forward(x), x / 2));  // the authors' start
  EXPECT_EQ(test::block_of("sam(init=identity)", 64)->named_parameters()["bn.weight"].item<float>(), 1);
}

// timm and luuuyi stack (mean, maximum): the same numbers once the planes have changed places.
TEST(Sam, order_says_which_plane_comes_first) {
  torch::manual_seed(2);
  const auto ours = test::block_of("sam(kernel=3)", 6),
             theirs = test::block_of("sam(kernel=3, order=mean_max)", 6);
  test::randomise(*ours);
  take(*theirs, *ours, "");
  const torch::Tensor x = torch::randn({2, 6, 5, 4});
  EXPECT_GT(test::relative_error(theirs->forward(x), ours->forward(x)), 1e-3);
  {
    const torch::NoGradGuard guard;
    theirs->named_parameters()["conv.weight"].copy_(ours->named_parameters()["conv.weight"].flip(1));
  }
  test::expect_near(theirs->forward(x), ours->forward(x), 1e-6, "swapped planes");
  // The first plane of mean_max meets the mean: with the second plane 0 and a 1x1 kernel the logit is the
  // mean.
  const auto mean_only = test::block_of("sam(kernel=1, norm=false, order=mean_max)", 6);
  const torch::NoGradGuard guard;
  mean_only->named_parameters()["conv.weight"].copy_(torch::tensor({1.0F, 0.0F}).view({1, 2, 1, 1}));
  test::expect_near(mean_only->forward(x), x * torch::sigmoid(x.mean(1, true)), 1e-6, "mean first");
}

}  // namespace
}  // namespace gaze
