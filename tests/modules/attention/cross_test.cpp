// The two blocks whose cells look around: mha over their own map, cross over an earlier stage's.
#include "modules/attention/cross.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <string>

#include "modules/attention/mha.h"
#include "modules/attention/stage_memory.h"
#include "modules/core/attention_map.h"
#include "modules/core/error.h"
#include "tests/modules/attention/block_contract.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

// y[c, h, w] = x[c, h, w] + out · attended over the cells of the memory, row by row, one head, in plain
// doubles.
torch::Tensor by_hand(const torch::nn::Module& block, const torch::Tensor& x, const torch::Tensor& memory,
                      torch::Tensor& weights) {
  const auto p = block.named_parameters();
  const auto layer = [&](const char* name, const std::vector<double>& in) {
    const torch::Tensor weight = p[std::string("attention.") + name + ".weight"],
                        bias = p[std::string("attention.") + name + ".bias"];
    std::vector<double> out(static_cast<size_t>(weight.size(0)));
    for (size_t o = 0; o < out.size(); ++o) {
      out[o] = bias[int64_t(o)].item<double>();
      for (size_t i = 0; i < in.size(); ++i) out[o] += weight[int64_t(o)][int64_t(i)].item<double>() * in[i];
    }
    return out;
  };
  const auto cell = [](const torch::Tensor& map, int64_t h, int64_t w) {
    std::vector<double> values;
    for (int64_t c = 0; c < map.size(1); ++c) values.push_back(map[0][c][h][w].item<double>());
    return values;
  };
  const int64_t H = x.size(2), W = x.size(3), memory_W = memory.size(3), S = memory.size(2) * memory_W;
  torch::Tensor y = x.to(torch::kDouble).clone();
  weights = torch::zeros({1, H * W, S}, torch::kDouble);
  for (int64_t h = 0; h < H; ++h)
    for (int64_t w = 0; w < W; ++w) {
      const std::vector<double> query = layer("query", cell(x, h, w));
      std::vector<double> mean(query.size(), 0), exponential;
      double sum = 0;
      for (int64_t s = 0; s < S; ++s) {
        const std::vector<double> key = layer("key", cell(memory, s / memory_W, s % memory_W));
        double score = 0;
        for (size_t d = 0; d < query.size(); ++d)
          score += query[d] * key[d] / std::sqrt(double(query.size()));
        if (const torch::Tensor* const rows = p.find("attention.grid.row")) {
          const torch::Tensor& columns = p["attention.grid.column"];
          const int64_t last = rows->size(0) / 2;
          const auto distance = [&](int64_t key_at, int64_t query_at) {
            return last + std::max(-last, std::min(last, key_at - query_at));
          };
          for (size_t d = 0; d < query.size(); ++d) {
            score += query[d] * (*rows)[distance(s / memory_W, h)][int64_t(d)].item<double>();
            score += query[d] * columns[distance(s % memory_W, w)][int64_t(d)].item<double>();
          }
        }
        exponential.push_back(std::exp(score));
        sum += exponential.back();
      }
      for (int64_t s = 0; s < S; ++s) {
        const double weight = exponential[size_t(s)] / sum;
        weights[0][h * W + w][s] = weight;
        const std::vector<double> value = layer("value", cell(memory, s / memory_W, s % memory_W));
        for (size_t d = 0; d < mean.size(); ++d) mean[d] += weight * value[d];
      }
      const std::vector<double> out = layer("out", mean);
      for (int64_t c = 0; c < x.size(1); ++c) y[0][c][h][w] += out[size_t(c)];
    }
  return y;
}

TEST(Mha, adds_what_each_cell_sees_on_its_own_map) {
  torch::manual_seed(1);
  for (const char* const spec : {"mha(heads=1, width=3)", "mha(heads=1, width=3, relative=2)"}) {
    const auto block = test::block_of(spec, 4);
    test::randomise(*block);
    for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      const torch::Tensor x = torch::randn({1, 4, 2, 3}).contiguous(format);
      torch::Tensor weights;
      const torch::Tensor expected = by_hand(*block, x, x, weights);
      const MapRecorder recorder;
      test::expect_near(block->forward(x), expected, 1e-5, std::string(spec) + ", output");
      test::expect_near(recorder.maps().at(0).values, weights, 1e-5, std::string(spec) + ", map");
    }
  }
}

TEST(Cross, adds_what_each_cell_sees_on_the_earlier_map) {
  torch::manual_seed(2);
  const auto block = test::block_of("cross(memory=layer2, heads=1, width=3)", 5);
  test::randomise(*block);
  const torch::Tensor x = torch::randn({1, 5, 2, 3}), memory = torch::randn({1, 4, 3, 5});
  torch::Tensor weights;
  const torch::Tensor expected = by_hand(*block, x, memory, weights);
  const MapRecorder recorder;
  StageMemory stages;
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    stages.put("layer2", memory.contiguous(format));
    test::expect_near(block->forward(x), expected, 1e-5, "output");
  }
  test::expect_near(recorder.maps().at(0).values, weights, 1e-5, "map");
}

TEST(Mha, keys_and_counts) {
  EXPECT_EQ(test::keys_of(*test::block_of("mha(heads=2, bias=false)", 8)),
            (std::vector<std::string>{"attention.query.weight", "attention.key.weight",
                                      "attention.value.weight", "attention.out.weight"}));
  const auto block = test::block_of("mha(heads=2, width=6)", 8);
  EXPECT_EQ(block->parameter_count(), 4 * 8 * 6 + 3 * 6 + 8);
  EXPECT_EQ(block->macs(3, 5), 15 * 4 * 8 * 6 + 2 * 15 * 15 * 6);
  EXPECT_EQ(block->memory(), "");
  const auto placed = test::block_of("mhsa(heads=2, width=6, relative=4)", 8);
  EXPECT_EQ(placed->spec(), "mha(heads=2, width=6, relative=4)");
  EXPECT_EQ(placed->parameter_count(), block->parameter_count() + 2 * 7 * 3);
  EXPECT_EQ(placed->macs(3, 5), block->macs(3, 5) + 15 * (3 + 5) * 6);
}

TEST(Cross, keys_and_counts) {
  const auto block = test::block_of("cross(memory=layer2, heads=2, width=6)", 8);
  EXPECT_EQ(test::keys_of(*block), test::keys_of(*test::block_of("mha(heads=2, width=6)", 8)));
  EXPECT_EQ(block->parameter_count(), (8 * 6 + 6) + 2 * (4 * 6 + 6) + (6 * 8 + 8));
  // The memory has two rows and two columns for each of the slot's: 60 cells for 15.
  EXPECT_EQ(block->macs(3, 5), 15 * 2 * 8 * 6 + 60 * 2 * 4 * 6 + 2 * 15 * 60 * 6);
  EXPECT_EQ(block->memory(), "layer2");
}

TEST(Cross, gradients_reach_the_memory) {
  torch::manual_seed(3);
  const auto block = test::block_of("cross(memory=layer2, heads=2)", 6);
  const torch::Tensor x = torch::randn({2, 6, 2, 3}),
                      memory = torch::randn({2, 4, 3, 5}).requires_grad_(true);
  StageMemory stages;
  stages.put("layer2", memory);
  block->forward(x).square().sum().backward();
  EXPECT_GT(memory.grad().abs().max().item<float>(), 0);
}

TEST(CrossErrors, the_memory_must_be_an_earlier_stage) {
  const auto at = [](const char* spec, std::vector<StageWidth> earlier) {
    SlotPlace place = test::place_of(8);
    place.earlier = std::move(earlier);
    return make_block(parse_block_specs(spec).at(0), place);
  };
  EXPECT_THROWS_WITH(
      at("cross", {{"layer1", 64, 4}, {"layer2", 128, 8}}), ArgumentError,
      "[cross] expected memory=a stage that ends before layer3.0.attn (layer1, layer2); got no "
      "memory");
  EXPECT_THROWS_WITH(at("cross(memory=layer3)", {{"layer1", 64, 4}, {"layer2", 128, 8}}), ArgumentError,
                     "[cross] expected memory=a stage that ends before layer3.0.attn (layer1, layer2); got "
                     "memory=layer3");
  EXPECT_THROWS_WITH(at("cross(memory=layer2)", {}), ArgumentError,
                     "[cross] expected memory=a stage that ends before layer3.0.attn (there is none); got "
                     "memory=layer2");
}

TEST(CrossErrors, forward_needs_the_memory) {
  const auto block = test::block_of("cross(memory=layer2, heads=2)", 6);
  const torch::Tensor x = torch::zeros({2, 6, 3, 3});
  EXPECT_THROWS_WITH(block->forward(x), ArgumentError,
                     "[cross] expected a StageMemory with the stage layer2 around forward; got none");
  StageMemory stages;
  stages.put("layer1", x);
  EXPECT_THROWS_WITH(block->forward(x), ArgumentError,
                     "[slot] unknown stage \"layer2\"; did you mean \"layer1\"? known: layer1");
  stages.put("layer2", torch::zeros({2, 5, 3, 3}));
  EXPECT_THROWS_WITH(block->forward(x), ArgumentError,
                     "[cross] expected layer2 [B=2, C=4, H, W]; got layer2 [2, 5, 3, 3]");
  stages.put("layer2", torch::zeros({1, 4, 3, 3}));
  EXPECT_THROWS_WITH(block->forward(x), ArgumentError,
                     "[cross] expected layer2 [B=2, C=4, H, W]; got layer2 [1, 4, 3, 3]");
  stages.put("layer2", torch::zeros({2, 4, 3, 3}, torch::kDouble));
  EXPECT_THROWS_WITH(block->forward(x), ArgumentError,
                     "[cross] expected layer2 Float on cpu like x; got layer2 Double on cpu");
}

TEST(CrossErrors, options_that_do_not_fit) {
  CrossOptions options;
  options.channels = 8;
  EXPECT_THROWS_WITH(Cross{options}, ArgumentError, "[cross] expected memory=an earlier stage; got none");
  options.memory = "layer2";
  EXPECT_THROWS_WITH(Cross{options}, ArgumentError,
                     "[cross] expected memory_channels >= 1; got memory_channels 0");
  options.memory_channels = 4;
  options.heads = 3;
  EXPECT_THROWS_WITH(Cross{options}, ArgumentError,
                     "[cross] expected heads that divide width 8; got heads 3");
}

}  // namespace
}  // namespace gaze
