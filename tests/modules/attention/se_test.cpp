#include "modules/attention/se.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <sstream>

#include "modules/core/attention_map.h"
#include "tests/modules/attention/block_contract.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

SeOptions options_for(int64_t channels, int64_t reduction = 16) {
  SeOptions options;
  options.channels = channels;
  options.reduction = reduction;
  return options;
}

// sigmoid(W2 relu(W1 mean + b1) + b2) of one picture, in plain doubles.
std::vector<double> paper_gate(SeImpl& se, const torch::Tensor& picture) {
  const auto value = [](const torch::Tensor& x) { return x.item<double>(); };
  const auto parameters = se.named_parameters();
  const torch::Tensor w1 = parameters["fc1.weight"], b1 = parameters["fc1.bias"];
  const torch::Tensor w2 = parameters["fc2.weight"], b2 = parameters["fc2.bias"];
  const int64_t C = picture.size(0), R = w1.size(0), H = picture.size(1), W = picture.size(2);
  std::vector<double> hidden(R), gate(C);
  for (int64_t r = 0; r < R; ++r) {
    hidden[r] = value(b1[r]);
    for (int64_t c = 0; c < C; ++c) {
      double mean = 0;
      for (int64_t h = 0; h < H; ++h)
        for (int64_t w = 0; w < W; ++w) mean += value(picture[c][h][w]) / double(H * W);
      hidden[r] += value(w1[r][c][0][0]) * mean;
    }
    hidden[r] = std::max(hidden[r], 0.0);
  }
  for (int64_t c = 0; c < C; ++c) {
    double logit = value(b2[c]);
    for (int64_t r = 0; r < R; ++r) logit += value(w2[c][r][0][0]) * hidden[r];
    gate[c] = 1 / (1 + std::exp(-logit));
  }
  return gate;
}

TEST(Se, is_the_papers_formula) {
  torch::manual_seed(1);
  Se se(options_for(6, 2));
  const torch::Tensor x = torch::randn({2, 6, 3, 4});
  const torch::Tensor y = se->forward(x);
  for (int64_t b = 0; b < 2; ++b) {
    const std::vector<double> gate = paper_gate(*se, x[b]);
    const torch::Tensor expected =
        x[b].to(torch::kDouble) * torch::tensor(gate, torch::kDouble).view({6, 1, 1});
    test::expect_near(y[b], expected, 1e-5, "picture");
  }
}

TEST(Se, state_keys_and_shapes_are_timms) {
  Se se(options_for(64));
  EXPECT_EQ(test::keys_of(*se),
            (std::vector<std::string>{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}));
  EXPECT_EQ(se->named_parameters()["fc1.weight"].sizes(), torch::IntArrayRef({4, 64, 1, 1}));
  EXPECT_EQ(se->named_parameters()["fc2.weight"].sizes(), torch::IntArrayRef({64, 4, 1, 1}));
  EXPECT_EQ(test::keys_of(*test::block_of("se(bias=false, init=identity)", 64)),
            (std::vector<std::string>{"mix", "fc1.weight", "fc2.weight"}));
}

TEST(Se, counts_match_the_published) {
  EXPECT_EQ(test::added_to_resnet50("se"), 28088024 - 25557032);
  EXPECT_EQ(test::added_to_resnet50("se(bias=false)"), 28071976 - 25557032);
  EXPECT_EQ(test::block_of("se(init=identity)", 64)->parameter_count(),
            test::block_of("se", 64)->parameter_count() + 1);
  // 64·4 + 4·64 for the layers, 64·7·5 for the products.
  EXPECT_EQ(test::block_of("se", 64)->macs(7, 5), 512 + 2240);
}

TEST(Se, counts_match_the_published_of_smaller_networks) {
  EXPECT_EQ(test::added_to_resnet18("se"), 11778592 - 11689512);
  EXPECT_EQ(test::added_to_resnet18("se(divisor=8)"), 11779624 - 11689512);  // timm's
}

TEST(Se, hidden_width_rounds_down_but_not_to_zero) {
  EXPECT_EQ(Se(options_for(40))->options().hidden, 2);
  EXPECT_EQ(Se(options_for(8))->options().hidden, 1);
}

// timm 1.0: SEModule(channels, rd_ratio=1/reduction, rd_divisor=divisor).fc1.out_channels.
TEST(Se, hidden_width_rounds_as_timm_does) {
  struct Row {
    int64_t channels, reduction, divisor, hidden;
  };
  for (const Row& row : std::vector<Row>{{64, 16, 8, 8},
                                         {128, 16, 8, 8},
                                         {192, 16, 8, 16},
                                         {256, 16, 8, 16},
                                         {40, 16, 8, 8},
                                         {200, 16, 8, 16},
                                         {8, 16, 8, 8},
                                         {40, 16, 1, 3},
                                         {24, 16, 1, 2},
                                         {23, 16, 1, 1},
                                         {7, 16, 1, 1},
                                         {96, 6, 4, 16},
                                         {30, 4, 5, 10},
                                         {2048, 16, 8, 128},
                                         {56, 16, 7, 7}}) {
    SeOptions options = options_for(row.channels, row.reduction);
    options.divisor = row.divisor;
    EXPECT_EQ(Se(options)->options().hidden, row.hidden)
        << row.channels << " / " << row.reduction << ", divisor " << row.divisor;
  }
}

TEST(Se, files_its_gate_only_when_asked) {
  Se se(options_for(4, 2));
  const torch::Tensor x = torch::randn({2, 4, 3, 3});
  se->forward(x);
  MapRecorder recorder;
  const torch::Tensor y = se->forward(x);
  ASSERT_EQ(recorder.maps().size(), 1U);
  EXPECT_EQ(recorder.maps()[0].name, "channel");
  EXPECT_EQ(recorder.maps()[0].kind, AttentionMap::Kind::channel);
  EXPECT_FALSE(recorder.maps()[0].values.requires_grad());
  test::expect_near(x * recorder.maps()[0].values.view({2, 4, 1, 1}), y, 1e-6, "gate");
}

TEST(Se, prints_itself) {
  std::ostringstream stream;
  stream << *Se(options_for(64));
  EXPECT_EQ(stream.str().substr(0, stream.str().find('\n')),
            "gaze::Se(channels=64, reduction=16, divisor=0, hidden=4, bias=true, init=paper)(");
}

}  // namespace
}  // namespace gaze
