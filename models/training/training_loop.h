// The loop that every kind of training runs: schedule, clipping, log, and a state to go on from after a kill.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "models/training/run_state.h"
#include "modules/core/random.h"

namespace gaze::models {

// One moment of a run, for a progress display and the log.
struct TrainingMoment {
  std::string stage;
  int64_t step = 0, steps = 0;
  double loss = 0;        // mean since the last moment
  double lr = 0;          // of the first parameter group
  double seconds = 0;     // since the stage began or was resumed
  double val_loss = -1;   // only at the end of an epoch
  double val_score = -1;  // share of the validation samples that are right; the same
};

struct LoopOptions {
  std::filesystem::path out;  // the run's folder
  nlohmann::json recipe;      // what makes two runs the same
  uint64_t seed = 1;
  int64_t warmup = 0;        // steps, at most a tenth of a stage's
  double clip = 1;           // of the norm of each parameter group's gradient
  double save_seconds = 60;  // how often the state is saved
  std::string score;         // what the log calls TrainingMoment::val_score
};

// As a recipe has them; `score` is what the log calls TrainingMoment::val_score.
template <typename Recipe>
LoopOptions loop_options(const Recipe& recipe, std::filesystem::path out, std::string score) {
  return {std::move(out), to_json(recipe),     recipe.seed,     recipe.warmup,
          recipe.clip,    recipe.save_seconds, std::move(score)};
}

struct LoopStage {
  std::string name;
  uint64_t number = 0;  // of its random streams
  int64_t steps = 0;
  int64_t steps_per_epoch = 0;  // 0: no epochs, nothing is validated
  NamedModules modules;         // what is saved; the optimizer's parameters are among theirs
};

// What a kind of training adds to the loop.
struct LoopHooks {
  // Puts the modules into training mode, before every step.
  std::function<void()> train;
  // The loss of a step, all of whose randomness comes from `random` and LibTorch's generator.
  std::function<at::Tensor(int64_t step, Random& random)> loss_of;
  // After the optimizer's step; may be empty.
  std::function<void(int64_t step)> stepped;
  // At the end of an epoch: fills val_loss and val_score, keeps the best model.
  std::function<void(TrainingMoment&)> validate;
};

class TrainingLoop {
 public:
  // Opens `out` with log.csv and, where a run of the same recipe left one, its state. Throws ArgumentError
  // for another recipe's state, FileError where the folder cannot be written.
  TrainingLoop(LoopOptions options, std::function<void(const TrainingMoment&)> watch);

  // The stage that a resumed run stands in; empty for a new one.
  std::string resumed_stage() const;

  // What else is kept with the state, such as the best score so far: an object, as the last state has it,
  // else empty.
  nlohmann::json& kept() { return kept_; }

  // Runs the steps of `stage` that have not been run. Every step draws its randomness from (seed, stage,
  // step), so a resumed run ends with the same bits, on the same machine and with as many threads.
  void run(const LoopStage& stage, torch::optim::Optimizer& optimizer, const LoopHooks& hooks);

  // Hands a moment to the watcher without logging it.
  void tell(const TrainingMoment& moment) const { watch_(moment); }

 private:
  void save(const LoopStage& stage, int64_t next_step, const torch::optim::Optimizer& optimizer) const;
  void log(const TrainingMoment& moment);

  LoopOptions options_;
  std::function<void(const TrainingMoment&)> watch_;
  std::optional<RunState> resumed_;
  nlohmann::json kept_ = nlohmann::json::object();
  std::ofstream log_;
};

}  // namespace gaze::models
