// gaze train classify: fine-tunes a network with new blocks on pictures in a folder a class.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/gaze/network_source.h"
#include "apps/gaze/optimizer_options.h"
#include "apps/gaze/progress.h"
#include "apps/gaze/train.h"
#include "models/training/classify_training.h"

namespace gaze::apps {
namespace {

struct TrainClassify {
  NetworkSource source;
  models::ClassifyRecipe recipe;
  models::ImageOptions image;
  std::filesystem::path data;
  TrainFlags flags;
};

models::ImageFolder read_pictures(const TrainClassify& options) {
  models::ImageFolderOptions folder;
  folder.val_share = options.recipe.val_share;
  folder.seed = options.recipe.seed;
  folder.threads = at::get_num_threads();
  folder.image = options.image;
  Progress progress("pictures");
  models::ImageFolder pictures = models::read_image_folder(
      options.data, folder, [&](int64_t done, int64_t count) { progress.show(done, count); });
  for (const std::string& problem : pictures.unreadable) warn(problem);
  return pictures;
}

void print_result(const models::ClassifyResult& result, const models::ImageFolder& pictures, bool json) {
  if (json) {
    std::cout << nlohmann::json{{"model", result.model.string()},
                                {"val_accuracy", result.val_accuracy},
                                {"val_loss", result.val_loss},
                                {"classes", result.confusion.classes},
                                {"confusion", result.confusion.counts},
                                {"skipped", pictures.unreadable.size()}}
                     .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
              << "\n";
    return;
  }
  std::cout << fmt::format("{}\n{}: {:.1f} % of {} validation pictures are right\n", result.confusion.text(),
                           result.model.string(), 100 * result.val_accuracy, pictures.val.size());
}

int train(TrainClassify options) {
  check(options.source);
  if (options.data.empty())
    throw UsageError("--data: give the folder of the pictures, a folder a class in it");
  apply(options.flags.common);
  options.recipe.seed = options.flags.common.seed;
  models::check(options.recipe);
  LoadedNetwork loaded = load_network(options.source);
  if (options.recipe.licence.empty() && loaded.model && loaded.model->description.contains("provenance"))
    options.recipe.licence = loaded.model->description["provenance"].value("licence", "");
  const models::ImageFolder pictures = read_pictures(options);
  const std::string name = std::filesystem::absolute(options.data / ".").parent_path().filename().string();
  const models::ClassifyResult result =
      models::train_classify(options.recipe, {loaded.network, loaded.preprocessing, loaded.labels, name},
                             pictures, options.flags.out, {watch_training("right"), warn});
  print_result(result, pictures, options.flags.json);
  if (pictures.unreadable.empty()) return kOk;
  warn(fmt::format("{} pictures could not be read and were left out", pictures.unreadable.size()));
  return kSomeFailed;
}

void add_training_options(CLI::App& command, models::ClassifyRecipe& recipe) {
  command
      .add_option(
          "--insert", recipe.insert,
          "PATTERN=SPEC: new blocks for the slots that match, e.g. layer4.*.attn=cbam; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--init", recipe.init,
                  "how they start: identity leaves the network's output as it was; paper")
      ->check(CLI::IsMember({"identity", "paper"}))
      ->capture_default_str();
  command.add_option("--size", recipe.size, "side of the model's input; 0: as the network has it")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command
      .add_option("--val-share", recipe.val_share,
                  "share of each class to validate on, where the folder has no train and val")
      ->check(CLI::Range(0.01, 0.99))
      ->capture_default_str();
  command
      .add_option("--smallest-crop", recipe.smallest_crop, "random crops: at least this share of the picture")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
  command.add_option("--flip", recipe.flip, "share of uses that are mirrored")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--mixup", recipe.mixup, "mixing of two pictures: Beta(mixup, mixup); 0 for none")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--label-smoothing", recipe.label_smoothing, "label smoothing")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  command
      .add_option("--block-epochs", recipe.block_epochs,
                  "epochs of the first stage: new blocks and head alone, the rest frozen")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--epochs", recipe.epochs, "epochs of the second stage: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--norms", recipe.norms, "statistics of the network's own norms in the second stage")
      ->check(CLI::IsMember({"frozen", "trained"}))
      ->capture_default_str();
  command.add_option("--batch", recipe.batch, "pictures a step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--lr", recipe.lr, "peak learning rate of new blocks and head")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--network-lr", recipe.network_lr, "peak learning rate of the rest")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_optimizer_options(command, recipe, "a stage");
  command.add_option("--licence", recipe.licence,
                     "what the written model may be used under; else that of the weights it grew from");
}

}  // namespace

void add_train_classify(CLI::App& train_app, Run& run) {
  auto options = std::make_shared<TrainClassify>();
  CLI::App* command = train_app.add_subcommand(
      "classify",
      "Fine-tunes a network, with new blocks in its slots, on pictures in a folder a class; run it again to "
      "go on "
      "after it was stopped.\n\nExample:\n"
      "  gaze data classes --out out/classes\n"
      "  gaze train classify --data out/classes --backbone efficientnet_lite0 --weights "
      "weights/cache/efficientnet_lite0.pth --insert 'blocks.*.attn=se' --out out/classifier\n"
      "  gaze classify out/classes/val --model out/classifier/model.safetensors\n"
      "DATA/CLASS/*.jpg is split into training and validation; DATA/train/CLASS and DATA/val/CLASS are taken "
      "as "
      "they are.");
  command->add_option("--data", options->data, "folder of the pictures");
  add_network_options(*command, options->source);
  add_train_flags(*command, options->flags,
                  "model.safetensors, confusion.csv, log.csv, gates.csv, state.safetensors");
  command->add_option("--max-pixels", options->image.max_pixels, "larger pictures are left out")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_training_options(*command, options->recipe);
  train_when_chosen(*command, options->flags, run, [options] { return train(*options); });
}

}  // namespace gaze::apps
