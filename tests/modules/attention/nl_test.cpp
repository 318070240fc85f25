#include "modules/attention/nl.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "tests/modules/attention/block_contract.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

// The formula, a scalar at a time; with pooling, keys and values are maxima of 2 x 2 cells.
torch::Tensor reference(NlImpl& block, const torch::Tensor& x) {
  const auto p = block.named_parameters();
  const auto project = [&](const std::string& name, const torch::Tensor& map) {
    const torch::Tensor weight = p[name + ".weight"].flatten(1), bias = p[name + ".bias"];
    return torch::einsum("dc,bcs->bds", {weight, map.flatten(2)}) + bias.view({1, -1, 1});
  };
  const int64_t B = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
  torch::Tensor seen = x;
  if (block.options().pool) {
    seen = torch::empty({B, C, (H + 1) / 2, (W + 1) / 2}, x.options());
    for (int64_t y = 0; y < seen.size(2); ++y)
      for (int64_t z = 0; z < seen.size(3); ++z)
        seen.select(3, z).select(2, y).copy_(x.narrow(2, 2 * y, std::min<int64_t>(2, H - 2 * y))
                                                 .narrow(3, 2 * z, std::min<int64_t>(2, W - 2 * z))
                                                 .amax({2, 3}));
  }
  const torch::Tensor theta = project("theta", x), phi = project("phi", seen), g = project("g", seen);
  const int64_t T = theta.size(2), S = phi.size(2), D = theta.size(1);
  const double scale = block.options().scaled ? 1 / std::sqrt(static_cast<double>(D)) : 1;
  torch::Tensor taken = torch::zeros({B, D, T}, x.options());
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < T; ++t) {
      double sum = 0;
      for (int64_t s = 0; s < S; ++s) {
        const double likeness = (theta[b].select(1, t) * phi[b].select(1, s)).sum().item<double>();
        const double weight = std::exp(scale * likeness);
        taken[b].select(1, t).add_(g[b].select(1, s) * weight);
        sum += weight;
      }
      taken[b].select(1, t).div_(sum);
    }
  torch::Tensor added = project("out", taken);  // [B, C, T]
  if (block.options().norm) {
    const auto buffers = block.named_buffers();
    const auto of_channel = [](const torch::Tensor& v) { return v.view({1, -1, 1}); };
    added = (added - of_channel(buffers["norm.running_mean"])) /
                (of_channel(buffers["norm.running_var"]) + 1e-5).sqrt() * of_channel(p["norm.weight"]) +
            of_channel(p["norm.bias"]);
  }
  return x + added.view_as(x);
}

TEST(Nl, is_the_formula) {
  torch::manual_seed(1);
  const torch::NoGradGuard guard;
  for (const char* spec :
       {"nl", "nl(reduction=3, scaled=true)", "nl(pool=true)", "nl(pool=true, norm=false)"}) {
    const auto block = std::dynamic_pointer_cast<NlImpl>(test::block_of(spec, 6));
    ASSERT_TRUE(block);
    test::randomise(*block);
    block->to(torch::kDouble);
    block->eval();
    for (const auto& size : {std::pair<int64_t, int64_t>{1, 1}, {4, 6}, {3, 5}, {2, 1}}) {
      const torch::Tensor x = torch::randn({2, 6, size.first, size.second}, torch::kDouble);
      test::expect_near(block->forward(x), reference(*block, x), 1e-12,
                        fmt::format("{}, {} x {}", spec, size.first, size.second));
    }
  }
}

TEST(Nl, has_the_state_of_its_header) {
  const std::vector<std::string> with{"g.bias",
                                      "g.weight",
                                      "norm.bias",
                                      "norm.num_batches_tracked",
                                      "norm.running_mean",
                                      "norm.running_var",
                                      "norm.weight",
                                      "out.bias",
                                      "out.weight",
                                      "phi.bias",
                                      "phi.weight",
                                      "theta.bias",
                                      "theta.weight"};
  std::vector<std::string> keys = test::keys_of(*test::block_of("nl", 6));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, with);
}

}  // namespace
}  // namespace gaze
