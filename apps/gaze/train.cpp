// gaze train: one subcommand a kind of model.
#include "apps/gaze/train.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "apps/gaze/progress.h"
#include "apps/gaze/recipe_file.h"

namespace gaze::apps {

void add_train_flags(CLI::App& command, TrainFlags& flags, const std::string& files) {
  command.add_option("--recipe", flags.recipe, "JSON file with values of the flags below; flags win");
  command.add_option("--out", flags.out, fmt::format("folder of the run: {}", files))->required();
  command.add_flag("--json", flags.json, "print the result as JSON");
  add_common_options(command, flags.common);
}

void train_when_chosen(CLI::App& command, const TrainFlags& flags, Run& run, Run train) {
  command.callback([&command, &flags, &run, train = std::move(train)] {
    run = [&command, &flags, train] {
      if (!flags.recipe.empty()) apply_recipe(command, flags.recipe);
      return train();
    };
  });
}

std::function<void(const models::TrainingMoment&)> watch_training(const std::string& score) {
  struct Shown {
    std::string stage;
    std::unique_ptr<Progress> progress;
  };
  return [score, shown = std::make_shared<Shown>()](const models::TrainingMoment& moment) {
    if (!shown->progress || moment.stage != shown->stage) {
      shown->stage = moment.stage;
      shown->progress.reset();
      shown->progress = std::make_unique<Progress>(moment.stage);
    }
    if (moment.val_loss >= 0) {
      warn(fmt::format("{} step {}: loss {:.3f}, validation loss {:.3f}, {} in {:.1f} %", moment.stage,
                       moment.step, moment.loss, moment.val_loss, score, 100 * moment.val_score));
    }
    const std::string note = moment.stage == "evidence" ? "" : fmt::format("loss {:.3f}", moment.loss);
    shown->progress->show(moment.step, moment.steps, note);
  };
}

void add_train(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "train",
      "Trains a model; see gaze train classify --help, gaze train caption --help, gaze train distill --help "
      "and gaze train translate --help.\n\n"
      "Example:\n"
      "  gaze train classify --data out/classes --backbone efficientnet_lite0 --weights "
      "weights/cache/efficientnet_lite0.pth --insert 'blocks.*.attn=se' --out out/classifier");
  command->require_subcommand(1);
  add_train_classify(*command, run);
  add_train_caption(*command, run);
  add_train_distill(*command, run);
  add_train_translate(*command, run);
}

}  // namespace gaze::apps
