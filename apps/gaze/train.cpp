// gaze train: one subcommand a kind of model.
#include "apps/gaze/train.h"

#include <fmt/format.h>

#include <memory>

#include "apps/gaze/progress.h"

namespace gaze::apps {

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
