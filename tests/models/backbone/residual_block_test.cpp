// Where the slots of residual blocks stand, by a block that doubles what passes through it.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "models/backbone/efficientnet_lite.h"
#include "models/backbone/resnet.h"
#include "modules/attention/stage_memory.h"
#include "tests/support/near.h"

namespace gaze::models {
namespace {

class Doubling : public AttentionBlock {
 public:
  torch::Tensor forward(const torch::Tensor& x) override {
    seen = x;
    return 2 * x;
  }
  std::string spec() const override { return "doubling"; }
  int64_t macs(int64_t height, int64_t width) const override { return 0; }

  torch::Tensor seen;
};

torch::Tensor run(torch::nn::Module& block, const char* child, const torch::Tensor& x) {
  const std::shared_ptr<torch::nn::Module> module = block.named_children()[child];
  if (auto* conv = module->as<torch::nn::Conv2d>()) return conv->forward(x);
  if (auto* norm = module->as<torch::nn::BatchNorm2d>()) return norm->forward(x);
  return module->as<torch::nn::Sequential>()->forward(x);
}

// Means over 2x2 cells, of those that are there.
torch::Tensor mean_of_four(const torch::Tensor& x) {
  const int64_t rows = (x.size(2) + 1) / 2, cols = (x.size(3) + 1) / 2;
  torch::Tensor y = torch::zeros({x.size(0), x.size(1), rows, cols});
  for (int64_t h = 0; h < rows; ++h) {
    for (int64_t w = 0; w < cols; ++w) {
      const torch::Tensor cells = x.slice(2, 2 * h, 2 * h + 2).slice(3, 2 * w, 2 * w + 2);
      y.select(2, h).select(2, w).copy_(cells.mean({2, 3}));
    }
  }
  return y;
}

// The block as its header tells it, `leaf` being the slot that doubles.
torch::Tensor expected_output(torch::nn::Module& block, const ResidualBlockOptions& options,
                              const std::string& leaf, const torch::Tensor& x) {
  const auto slot = [&](const char* name, const torch::Tensor& t) { return leaf == name ? 2 * t : t; };
  const auto second = [&](const torch::Tensor& t) {
    if (leaf != "conv") return run(block, "conv2", t);
    const bool strides = options.bottleneck && !options.stride_in_conv1 && options.stride == 2;
    return strides ? mean_of_four(2 * t) : 2 * t;
  };
  torch::Tensor y = run(block, "bn1", run(block, "conv1", slot("pre", x))).relu();
  if (options.bottleneck) {
    y = slot("mid", run(block, "bn2", second(y)).relu());
    y = run(block, "bn3", run(block, "conv3", y));
  } else {
    y = run(block, "bn2", second(slot("mid", y)));
  }
  const torch::Tensor shortcut =
      slot("skip", block.named_children().contains("downsample") ? run(block, "downsample", x) : x);
  return slot("post", (slot("attn", y) + shortcut).relu());
}

std::vector<ResidualBlockOptions> kinds() {
  std::vector<ResidualBlockOptions> kinds;
  for (const bool bottleneck : {false, true}) {
    for (const int64_t stride : {1, 2}) {
      ResidualBlockOptions options;
      options.name = "layer2.0";
      options.bottleneck = bottleneck;
      options.stride = stride;
      options.in_channels = stride == 1 ? 12 : 8;
      options.out_channels = 12;
      options.width = bottleneck ? 6 : 12;
      kinds.push_back(options);
      options.stride_in_conv1 = true;
      if (bottleneck && stride == 2) kinds.push_back(options);
    }
  }
  return kinds;
}

TEST(ResidualBlock, slots_stand_where_the_header_says) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(1);
  for (const ResidualBlockOptions& options : kinds()) {
    for (const char* leaf : {"none", "pre", "mid", "conv", "skip", "attn", "post"}) {
      const std::string context =
          fmt::format("{}, stride {}{}, {}", options.bottleneck ? "bottleneck" : "basic", options.stride,
                      options.stride_in_conv1 ? " in conv1" : "", leaf);
      ResidualBlock block(options);
      block->eval();
      for (torch::Tensor& buffer : block->buffers()) {
        if (buffer.is_floating_point()) buffer.uniform_(0.5, 1.5);  // norms that do something
      }
      const torch::Tensor x = torch::randn({2, options.in_channels, 7, 5});
      const torch::Tensor expected = expected_output(*block, options, leaf, x);
      for (Slot& slot : block->slots()) {
        if (slot->full_name() == std::string("layer2.0.") + leaf) slot->add(std::make_shared<Doubling>());
      }
      test::expect_near(block->forward(x), expected, 1e-6, context);
    }
  }
}

TEST(ResidualBlock, slots_know_what_passes_through) {
  const torch::NoGradGuard no_grad;
  for (ResidualBlockOptions options : kinds()) {
    options.step = 8;
    ResidualBlock block(options);
    std::vector<std::shared_ptr<Doubling>> probes;
    for (Slot& slot : block->slots()) {
      probes.push_back(std::make_shared<Doubling>());
      slot->add(probes.back());
    }
    block->forward(torch::randn({1, options.in_channels, 16, 16}));
    for (size_t i = 0; i < probes.size(); ++i) {
      const SlotPlace& place = block->slots()[i]->place();
      EXPECT_EQ(probes[i]->seen.size(1), place.channels) << place.name;
      EXPECT_EQ(probes[i]->seen.size(2), 8 * 16 / place.step) << place.name;
      const bool strided = place.name == "layer2.0.conv" && options.bottleneck && !options.stride_in_conv1;
      EXPECT_EQ(place.stride, strided ? options.stride : 1) << place.name;
    }
  }
}

TEST(InvertedResidual, slots_stand_where_the_header_says) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(2);
  InvertedResidualOptions options;
  options.name = "blocks.1";
  options.in_channels = options.out_channels = 8;
  for (const std::string leaf : {"pre", "mid", "attn", "skip", "post"}) {
    InvertedResidual block(options);
    block->eval();
    const torch::Tensor x = torch::randn({2, 8, 6, 4});
    const auto slot = [&](const char* name, const torch::Tensor& t) { return leaf == name ? 2 * t : t; };
    const auto conv = [&](const char* name, const torch::Tensor& t, int64_t padding) {
      const auto* layer = block->named_children()[name]->as<torch::nn::Conv2d>();
      return torch::conv2d(t, layer->weight, {}, 1, padding, 1, layer->options.groups());
    };
    torch::Tensor y = run(*block, "_bn0", conv("_expand_conv", slot("pre", x), 0)).clamp(0, 6);
    y = slot("mid", run(*block, "_bn1", conv("_depthwise_conv", y, 1)).clamp(0, 6));
    y = slot("attn", run(*block, "_bn2", conv("_project_conv", y, 0)));
    const torch::Tensor expected = slot("post", y + slot("skip", x));
    for (Slot& s : block->slots()) {
      if (s->full_name() == "blocks.1." + leaf) s->add(std::make_shared<Doubling>());
    }
    test::expect_near(block->forward(x), expected, 1e-6, leaf);
  }
}

// Keeps the outputs of the stages before it.
class Looking : public AttentionBlock {
 public:
  explicit Looking(std::vector<std::string> stages) : stages_(std::move(stages)) {}

  torch::Tensor forward(const torch::Tensor& x) override {
    for (const std::string& stage : stages_) seen.push_back(StageMemory::current()->get(stage));
    return x;
  }
  std::string spec() const override { return "looking"; }
  int64_t macs(int64_t height, int64_t width) const override { return 0; }

  std::vector<torch::Tensor> seen;

 private:
  std::vector<std::string> stages_;
};

TEST(Slots, reach_the_stages_before_them) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(3);
  for (const std::string name : {"resnet18", "efficientnet_lite0"}) {
    const auto network = make_backbone(name, 2);
    network->eval();
    std::vector<std::shared_ptr<Looking>> blocks;
    for (const Slot& slot : network->slots()) {
      std::vector<std::string> stages;
      for (const StageWidth& stage : slot->place().earlier) stages.push_back(stage.name);
      if (slot->layer() != nullptr) continue;
      blocks.push_back(std::make_shared<Looking>(stages));
      Slot(slot)->add(blocks.back());
    }
    const std::vector<StageFeature> features = network->stages(torch::randn({1, 3, 64, 64}));
    size_t most = 0;
    for (const std::shared_ptr<Looking>& block : blocks) {
      most = std::max(most, block->seen.size());
      for (size_t i = 0; i < block->seen.size(); ++i)
        EXPECT_TRUE(torch::equal(block->seen[i], features[i].value)) << name;
    }
    EXPECT_EQ(most, name == "resnet18" ? 3U : 4U);
    const Slot last = network->slots().back();
    for (size_t i = 0; i < last->place().earlier.size(); ++i) {
      EXPECT_EQ(last->place().earlier[i].name, features[i].name);
      EXPECT_EQ(last->place().earlier[i].channels, features[i].value.size(1));
    }
    EXPECT_EQ(StageMemory::current(), nullptr);
  }
}

TEST(Slots, between_stages_change_what_the_next_one_gets) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(4);
  for (const std::string name : {"resnet18", "efficientnet_lite0"}) {
    const auto network = make_backbone(name, 2);
    network->eval();
    const torch::Tensor x = torch::randn({1, 3, 64, 64});
    const std::vector<StageFeature> before = network->stages(x);
    for (Slot& slot : network->slots()) {
      if (slot->full_name() == "between.2") slot->add(std::make_shared<Doubling>());
    }
    const std::vector<StageFeature> after = network->stages(x);
    EXPECT_TRUE(torch::equal(after[0].value, before[0].value)) << name;
    EXPECT_TRUE(torch::equal(after[1].value, 2 * before[1].value)) << name;
    EXPECT_FALSE(torch::equal(after[2].value, before[2].value)) << name;
  }
}

}  // namespace
}  // namespace gaze::models
