#include "models/training/training_loop.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "models/training/schedule.h"
#include "models/training/streams.h"
#include "modules/core/check.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int64_t kLogEvery = 20;  // steps
constexpr const char* kState = "state.safetensors";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One step's gradients, clipped, and its loss.
double take_step(const LoopHooks& hooks, int64_t step, Random& random, double clip,
                 torch::optim::Optimizer& optimizer) {
  optimizer.zero_grad();
  const torch::Tensor loss = hooks.loss_of(step, random);
  const double value = loss.item<double>();
  if (!std::isfinite(value))
    check_that(false, "train", "a finite loss; a lower learning rate may help",
               fmt::format("{} at step {}", value, step));
  loss.backward();
  for (auto& group : optimizer.param_groups()) torch::nn::utils::clip_grad_norm_(group.params(), clip);
  optimizer.step();
  if (hooks.stepped) hooks.stepped(step);
  return value;
}

}  // namespace

TrainingLoop::TrainingLoop(LoopOptions options, std::function<void(const TrainingMoment&)> watch)
    : options_(std::move(options)), watch_(std::move(watch)) {
  std::error_code failed;
  fs::create_directories(options_.out, failed);
  if (failed)
    throw FileError(options_.out.string(), failed.message(), "give --out a folder that can be written");
  const fs::path state = options_.out / kState;
  if (fs::exists(state)) {
    resumed_ = read_run_state(state);
    if (resumed_->progress.at("recipe") != options_.recipe) {
      throw ArgumentError(fmt::format(
          "[train] expected {} to hold a run of this recipe; got another recipe's (give an empty --out)",
          options_.out.string()));
    }
    kept_ = resumed_->progress;
    for (const char* own : {"stage", "step", "recipe"}) kept_.erase(own);
  }
  log_.open(options_.out / "log.csv", resumed_ ? std::ios::app : std::ios::trunc);
  if (!log_) {
    throw FileError((options_.out / "log.csv").string(), "cannot be written",
                    "give --out a folder that can be written");
  }
  if (!resumed_) log_ << fmt::format("stage,step,loss,lr,val_loss,{},seconds\n", options_.score);
}

std::string TrainingLoop::resumed_stage() const {
  return resumed_ ? resumed_->progress.at("stage").get<std::string>() : "";
}

void TrainingLoop::save(const LoopStage& stage, int64_t next_step,
                        const torch::optim::Optimizer& optimizer) const {
  nlohmann::json progress = kept_;
  progress.update({{"stage", stage.name}, {"step", next_step}, {"recipe", options_.recipe}});
  write_run_state(options_.out / kState, {std::move(progress), pack(stage.modules, optimizer)});
}

void TrainingLoop::log(const TrainingMoment& moment) {
  log_ << fmt::format("{},{},{:.5f},{:.3e},{:.5f},{:.4f},{:.1f}\n", moment.stage, moment.step, moment.loss,
                      moment.lr, moment.val_loss, moment.val_score, moment.seconds)
       << std::flush;
  watch_(moment);
}

void TrainingLoop::run(const LoopStage& stage, torch::optim::Optimizer& optimizer, const LoopHooks& hooks) {
  int64_t step = 0;
  if (resumed_stage() == stage.name) {
    unpack(resumed_->tensors, stage.modules, optimizer);
    step = resumed_->progress.at("step");
    resumed_->tensors.clear();
  }
  std::vector<double> peaks;
  for (const auto& group : optimizer.param_groups()) peaks.push_back(group.options().get_lr());
  const auto start = Clock::now();
  auto saved = start;
  double sum = 0;
  int64_t counted = 0;
  for (; step < stage.steps; ++step) {
    hooks.train();
    Random random({options_.seed, kUse, stage.number, static_cast<uint64_t>(step)});
    torch::manual_seed(Random({options_.seed, kTorch, stage.number, static_cast<uint64_t>(step)}).bits());
    const double share = warmup_cosine(step, stage.steps, std::min(options_.warmup, stage.steps / 10), 1.0);
    for (size_t i = 0; i < peaks.size(); ++i) optimizer.param_groups()[i].options().set_lr(share * peaks[i]);
    sum += take_step(hooks, step, random, options_.clip, optimizer);
    ++counted;
    const bool epoch_ends = stage.steps_per_epoch > 0 && (step + 1) % stage.steps_per_epoch == 0;
    if (epoch_ends || (step + 1) % kLogEvery == 0) {
      TrainingMoment moment{stage.name,       step + 1,
                            stage.steps,      sum / static_cast<double>(counted),
                            share * peaks[0], seconds_since(start)};
      sum = 0;
      counted = 0;
      if (epoch_ends) {
        hooks.validate(moment);
        save(stage, step + 1, optimizer);
        saved = Clock::now();
      }
      log(moment);
    }
    if (seconds_since(saved) > options_.save_seconds) {
      save(stage, step + 1, optimizer);
      saved = Clock::now();
    }
  }
}

}  // namespace gaze::models
