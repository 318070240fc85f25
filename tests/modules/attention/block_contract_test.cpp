// The contract, for every block that a spec string can name.
#include "tests/modules/attention/block_contract.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "modules/core/attention_map.h"
#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

constexpr int64_t kChannels = 6;

// A small block of each kind that fits kChannels, and one with every option away from its usual value.
struct Sample {
  const char* spec;
  const char* unusual;
};
const std::map<std::string, Sample>& samples() {
  static const std::map<std::string, Sample> samples = {
      {"se", {"se(reduction=2)", "se(reduction=4, divisor=2, hidden=5, bias=false, init=identity)"}},
      {"eca", {"eca(kernel=3)", "eca(kernel=5, init=identity)"}},
      {"cam", {"cam(reduction=2)", "cam(reduction=4, divisor=2, hidden=5, bias=false, init=identity)"}},
      {"sam", {"sam(kernel=3)", "sam(kernel=5, norm=false, order=mean_max, init=identity)"}},
      {"cbam",
       {"cbam(reduction=2, kernel=3)",
        "cbam(reduction=4, divisor=2, hidden=5, bias=false, kernel=5, norm=false, order=mean_max, "
        "init=identity)"}},
      {"mha", {"mha(heads=2)", "mha(heads=3, width=9, bias=false, relative=3, init=identity)"}},
      {"cross",
       {"cross(memory=layer2, heads=2)",
        "cross(memory=layer2, heads=3, width=9, bias=false, init=identity)"}},
      {"nl", {"nl(reduction=2)", "nl(reduction=3, scaled=true, pool=true, norm=false, init=identity)"}},
  };
  return samples;
}

class BlockContract : public ::testing::TestWithParam<std::string> {
 protected:
  const Sample& sample() const { return samples().at(GetParam()); }
  std::shared_ptr<AttentionBlock> block(Init init = Init::paper) const {
    return test::block_of(sample().spec, kChannels, init);
  }
};

std::vector<test::NamedMap> maps_of(at::ScalarType dtype) {
  std::vector<test::NamedMap> maps = test::awkward_maps(dtype, kChannels);
  maps.push_back({"one cell of one picture", at::randn({1, kChannels, 1, 1}).to(dtype)});
  maps.push_back({"one column", at::randn({2, kChannels, 5, 1}).to(dtype)});
  return maps;
}

TEST_P(BlockContract, keeps_shape_dtype_and_memory_format) {
  torch::manual_seed(1);
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const char* spec : {sample().spec, sample().unusual}) {
      const auto block = test::block_of(spec, kChannels);
      block->to(dtype);
      for (const bool training : {true, false}) {
        block->train(training);
        for (const test::NamedMap& map : maps_of(dtype)) {
          const std::string context =
              fmt::format("{}, {}, {}, {}", spec, c10::toString(dtype), map.name, training);
          const torch::Tensor y = test::run(*block, map.x);
          const torch::Tensor end = test::run(*block, map.x, map.x);
          for (const torch::Tensor& got : {y, end}) {
            EXPECT_EQ(got.sizes(), map.x.sizes()) << context;
            EXPECT_EQ(got.scalar_type(), dtype) << context;
            EXPECT_EQ(got.suggest_memory_format(), map.x.suggest_memory_format()) << context;
            EXPECT_TRUE(torch::isfinite(got).all().item<bool>()) << context;
          }
        }
      }
    }
  }
}

// The same numbers for both memory formats and, within the type's precision, for every type.
TEST_P(BlockContract, is_one_function_in_every_layout_and_type) {
  torch::manual_seed(2);
  const auto block = this->block();
  test::randomise(*block);
  block->to(torch::kBFloat16);
  block->to(torch::kDouble);
  const torch::Tensor x = torch::randn({2, kChannels, 5, 4}).to(torch::kBFloat16).to(torch::kDouble);
  const torch::Tensor expected = test::run(*block, x);
  const std::vector<std::pair<at::ScalarType, double>> types = {
      {at::kDouble, 1e-12}, {at::kFloat, 1e-5}, {at::kHalf, 1e-2}, {at::kBFloat16, 6e-2}};
  for (const auto& [dtype, bound] : types) {
    block->to(dtype);
    for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      const std::string context =
          fmt::format("{}, {}", c10::toString(dtype), format == at::MemoryFormat::ChannelsLast);
      test::expect_near(test::run(*block, x.to(dtype).contiguous(format)), expected, bound, context);
    }
  }
}

TEST_P(BlockContract, ends_a_residual_block) {
  torch::manual_seed(3);
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const torch::Tensor x = torch::randn({2, kChannels, 5, 4}).contiguous(format);
    const torch::Tensor shortcut = torch::randn({2, kChannels, 5, 4}).contiguous(format);
    const auto block = this->block();
    test::randomise(*block);
    for (const bool training : {true, false}) {
      block->train(training);
      const torch::Tensor expected = torch::relu(test::run(*block, x) + shortcut);
      test::expect_near(test::run(*block, x, shortcut), expected, 1e-6, sample().spec);
    }
  }
}

TEST_P(BlockContract, starts_as_the_identity_on_request) {
  torch::manual_seed(4);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const bool training : {true, false}) {
      const auto block = this->block(Init::identity);
      block->to(dtype);
      block->train(training);
      const torch::Tensor x = torch::randn({2, kChannels, 5, 3}).to(dtype);
      const torch::Tensor shortcut = torch::randn({2, kChannels, 5, 3}).to(dtype);
      EXPECT_TRUE(torch::equal(test::run(*block, x), x));
      EXPECT_TRUE(torch::equal(test::run(*block, x, shortcut), torch::add(x, shortcut).relu_()));
      torch::optim::SGD optimizer(block->parameters(), 0.5);
      (test::run(*block, x, shortcut) * torch::randn_like(x)).sum().backward();
      double largest = 0;
      for (const torch::Tensor& parameter : block->parameters()) {
        if (parameter.grad().defined())
          largest = std::max(largest, parameter.grad().abs().max().item<double>());
      }
      EXPECT_GT(largest, 0);
      optimizer.step();
      EXPECT_FALSE(torch::equal(test::run(*block, x), x));
    }
  }
}

// Central differences of the block's own parameters and of x, in both modes.
TEST_P(BlockContract, gradients_are_those_of_the_function) {
  torch::manual_seed(5);
  for (const char* spec : {sample().spec, sample().unusual}) {
    const auto block = test::block_of(spec, kChannels);
    test::randomise(*block);
    block->to(torch::kDouble);
    torch::Tensor x = torch::randn({2, kChannels, 4, 3}, torch::kDouble).requires_grad_(true);
    const torch::Tensor shortcut = torch::randn({2, kChannels, 4, 3}, torch::kDouble),
                        weights = torch::randn({2, kChannels, 4, 3}, torch::kDouble);
    const auto loss = [&] {
      return (test::run(*block, x) * weights + test::run(*block, x, shortcut) * weights).sum();
    };
    for (const bool training : {true, false}) {
      block->train(training);
      std::vector<torch::Tensor> leaves = block->parameters();
      leaves.push_back(x);
      const std::vector<torch::Tensor> gradients = torch::autograd::grad({loss()}, leaves);
      const torch::NoGradGuard guard;
      for (size_t i = 0; i < leaves.size(); ++i) {
        const torch::Tensor values = leaves[i].view(-1), gradient = gradients[i].flatten();
        const int64_t step_over = std::max<int64_t>(1, values.numel() / 20);
        for (int64_t element = 0; element < values.numel(); element += step_over) {
          const double step = 1e-6;
          values[element] += step;
          const double above = loss().item<double>();
          values[element] -= 2 * step;
          const double below = loss().item<double>();
          values[element] += step;
          EXPECT_NEAR(gradient[element].item<double>(), (above - below) / (2 * step), 1e-6)
              << spec << ", tensor " << i << ", element " << element << ", training " << training;
        }
      }
    }
  }
}

const char* shape_letters(AttentionMap::Kind kind) {
  switch (kind) {
    case AttentionMap::Kind::channel:
      return "[B, C]";
    case AttentionMap::Kind::spatial:
      return "[B, H, W]";
    case AttentionMap::Kind::token:
      return "[B, T, S]";
    case AttentionMap::Kind::token_per_head:
      return "[B, N, T, S]";
  }
  return "";
}

TEST_P(BlockContract, files_the_maps_that_its_card_names) {
  const auto block = this->block();
  const torch::Tensor x = torch::randn({2, kChannels, 5, 3});
  const int64_t T = 5 * 3, S = block->memory().empty() ? T : 6 * 6;
  std::vector<std::string> filed;
  for (const bool to_end : {false, true}) {
    const MapRecorder recorder;
    filed.clear();
    test::run(*block, x, to_end ? x : torch::Tensor());
    for (const AttentionMap& map : recorder.maps()) {
      filed.push_back(map.name + " " + shape_letters(map.kind));
      const std::vector<int64_t> shape = map.kind == AttentionMap::Kind::channel ? std::vector{2L, kChannels}
                                         : map.kind == AttentionMap::Kind::spatial ? std::vector{2L, 5L, 3L}
                                                                                   : std::vector{2L, T, S};
      EXPECT_EQ(map.values.sizes(), at::IntArrayRef(shape)) << map.name;
      EXPECT_EQ(map.values.scalar_type(), at::kFloat);
      EXPECT_FALSE(map.values.requires_grad());
      EXPECT_TRUE(((map.values >= 0) & (map.values <= 1)).all().item<bool>());
    }
  }
  for (const BlockDescription& description : describe_blocks()) {
    if (description.card.name == GetParam())
      EXPECT_EQ(fmt::format("{}", fmt::join(filed, ", ")), description.card.maps);
  }
}

TEST_P(BlockContract, its_spec_makes_it_again) {
  for (const std::string spec : {sample().spec, sample().unusual}) {
    const auto block = test::block_of(spec, kChannels);
    EXPECT_EQ(block->spec(), spec);
    EXPECT_EQ(test::keys_of(*test::block_of(block->spec(), kChannels)), test::keys_of(*block));
  }
  // Every option is away from its usual value, so each is written and read.
  for (const BlockDescription& description : describe_blocks()) {
    if (description.card.name != GetParam()) continue;
    EXPECT_EQ(parse_block_specs(sample().unusual)[0].options.size(), description.options.size());
    for (const OptionDescription& option : description.options) EXPECT_NE(option.text, "");
  }
}

TEST_P(BlockContract, prints_itself_on_one_line) {
  std::ostringstream stream;
  block()->pretty_print(stream);
  EXPECT_EQ(stream.str().rfind("gaze::", 0), 0U) << stream.str();
  EXPECT_NE(stream.str().find(fmt::format("(channels={}, ", kChannels)), std::string::npos) << stream.str();
  EXPECT_EQ(stream.str().find('\n'), std::string::npos);
}

TEST_P(BlockContract, counts_its_learned_numbers) {
  for (const char* spec : {sample().spec, sample().unusual}) {
    const auto block = test::block_of(spec, kChannels);
    int64_t count = 0;
    for (const auto& item : block->named_parameters()) count += item.value().numel();
    EXPECT_EQ(block->parameter_count(), count);
    EXPECT_GT(block->macs(2, 3), kChannels * 2 * 3 - 1);
    EXPECT_GT(block->macs(4, 3), block->macs(2, 3));
  }
}

TEST_P(BlockContract, says_what_is_wrong_in_one_line) {
  const std::string name = GetParam();
  const auto block = this->block();
  EXPECT_THROWS_WITH(test::run(*block, torch::zeros({2, 5, 3, 3})), ArgumentError,
                     fmt::format("[{}] expected x [B, C=6, H, W]; got x [2, 5, 3, 3]", name));
  EXPECT_THROWS_WITH(block->forward(torch::zeros({2, 6})), ArgumentError,
                     fmt::format("[{}] expected x [B, C=6, H, W]; got x [2, 6]", name));
  std::vector<std::string> known;
  for (const BlockDescription& description : describe_blocks()) {
    if (description.card.name == name)
      for (const OptionDescription& option : description.options) known.push_back(option.name);
  }
  EXPECT_THROWS_WITH(test::block_of(name + "(colour=red)", kChannels), ArgumentError,
                     fmt::format("[{}] unknown option \"colour\"; known: {}", name, fmt::join(known, ", ")));
  EXPECT_THROWS_WITH(test::block_of(name + "(ini=paper)", kChannels), ArgumentError,
                     fmt::format("[{}] unknown option \"ini\"; did you mean \"init\"? known: {}", name,
                                 fmt::join(known, ", ")));
  const std::string example = parse_block_specs(sample().spec)[0].name;
  SlotPlace nowhere = test::place_of(0);
  EXPECT_THROWS_WITH(make_block(parse_block_specs(sample().spec)[0], nowhere), ArgumentError,
                     fmt::format("[{}] expected channels >= 1; got channels 0", name));
}

std::vector<std::string> sampled_names() {
  std::vector<std::string> names;
  for (const auto& [name, sample] : samples()) names.push_back(name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Every, BlockContract, ::testing::ValuesIn(block_names()),
                         [](const auto& info) { return info.param; });

TEST(BlockContractItself, has_a_sample_of_every_block) {
  std::vector<std::string> names = block_names();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(sampled_names(), names);
}

}  // namespace
}  // namespace gaze
