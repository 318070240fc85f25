#include "models/training/training_loop.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>
#include <iterator>

#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

// Trains y = w . x on random numbers of each step; may stop after some steps as a killed run does.
class TrainingLoops : public ::testing::Test {
 protected:
  struct Killed {};

  LoopOptions options(const std::string& out) const {
    LoopOptions options;
    options.out = folder_.path() / out;
    options.recipe = {{"lr", 0.1}};
    options.seed = 5;
    options.warmup = 3;
    options.save_seconds = 0;
    options.score = "val_right";
    return options;
  }

  // Steps 0 .. 11 in epochs of four; killed before step `kill_at`.
  torch::Tensor train(const LoopOptions& options, const std::string& optimizer_name, int64_t kill_at = -1) {
    torch::manual_seed(1);
    torch::nn::Linear layer(3, 1);
    std::unique_ptr<torch::optim::Optimizer> optimizer;
    if (optimizer_name == "adamw")
      optimizer = std::make_unique<torch::optim::AdamW>(layer->parameters(), torch::optim::AdamWOptions(0.1));
    else
      optimizer = std::make_unique<torch::optim::SGD>(layer->parameters(),
                                                      torch::optim::SGDOptions(0.1).momentum(0.9));
    moments_.clear();
    TrainingLoop loop(options, [&](const TrainingMoment& moment) { moments_.push_back(moment); });
    resumed_at_ = loop.resumed_stage();
    kept_ = loop.kept();
    LoopHooks hooks;
    hooks.train = [&] { layer->train(); };
    hooks.loss_of = [&](int64_t step, Random& random) {
      if (step == kill_at) throw Killed();
      const torch::Tensor x = torch::randn({4, 3}) * random.uniform();
      return layer->forward(x).sub(1).square().mean();
    };
    hooks.validate = [&](TrainingMoment& moment) {
      moment.val_loss = 0.25;
      moment.val_score = 0.5;
      loop.kept()["best"] = moment.step;
    };
    try {
      loop.run({"only", 0, 12, 4, {{"layer.", layer.ptr()}}}, *optimizer, hooks);
    } catch (const Killed&) {
    }
    return layer->weight.detach().clone();
  }

  std::vector<std::string> log_of(const std::string& out) const {
    std::ifstream stream(folder_.path() / out / "log.csv");
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  test::TemporaryFolder folder_;
  std::vector<TrainingMoment> moments_;
  std::string resumed_at_;
  nlohmann::json kept_;
};

TEST_F(TrainingLoops, resumed_run_ends_with_the_same_bits) {
  for (const char* optimizer : {"adamw", "sgd"}) {
    const std::string name = optimizer;
    const torch::Tensor straight = train(options(name + "straight"), optimizer);
    EXPECT_EQ(resumed_at_, "");
    for (const int64_t kill_at : {0, 3, 4, 9}) train(options(name), optimizer, kill_at);
    EXPECT_EQ(resumed_at_, "only");
    EXPECT_EQ(kept_, nlohmann::json({{"best", 4}}));
    EXPECT_TRUE(torch::equal(train(options(name), optimizer), straight)) << optimizer;
    EXPECT_EQ(moments_.size(), 1U);  // of the third epoch, which is all that was left
    EXPECT_TRUE(torch::equal(train(options(name), optimizer), straight)) << "a finished run stays as it is";
    EXPECT_TRUE(moments_.empty());
    EXPECT_EQ(kept_, nlohmann::json({{"best", 12}}));
  }
}

TEST_F(TrainingLoops, warms_up_and_logs_every_epoch) {
  LoopOptions twelve = options("log");
  train(twelve, "adamw");
  ASSERT_EQ(moments_.size(), 3U);
  EXPECT_EQ(moments_[1].step, 8);
  EXPECT_EQ(moments_[1].steps, 12);
  EXPECT_EQ(moments_[1].val_score, 0.5);
  EXPECT_GT(moments_[0].lr, moments_[2].lr);
  EXPECT_NEAR(moments_[2].lr, 0.1 * (0.01 + 0.99 * 0.5 * (1 + std::cos(M_PI * 10 / 11))), 1e-9);
  const std::vector<std::string> log = log_of("log");
  ASSERT_EQ(log.size(), 4U);
  EXPECT_EQ(log[0], "stage,step,loss,lr,val_loss,val_right,seconds");
  EXPECT_EQ(log[2].rfind("only,8,", 0), 0U) << log[2];
  EXPECT_NE(log[2].find(",0.25000,0.5000,"), std::string::npos) << log[2];
}

TEST_F(TrainingLoops, another_recipes_folder_is_refused) {
  LoopOptions mine = options("run");
  train(mine, "adamw");
  mine.recipe["lr"] = 0.2;
  EXPECT_THROWS_WITH(train(mine, "adamw"), ArgumentError,
                     "[train] expected " + mine.out.string() +
                         " to hold a run of this recipe; got another recipe's (give an empty --out)");
}

TEST_F(TrainingLoops, a_folder_that_cannot_be_made_is_named) {
  std::ofstream(folder_.path() / "file") << "x";
  EXPECT_THROW(TrainingLoop(options("file"), {}), FileError);
}

}  // namespace
}  // namespace gaze::models
