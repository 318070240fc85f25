// gaze data: composes scenes, or pictures of classes, and writes them to a folder; data_pairs.cpp has the
// pairs.
#include "apps/gaze/data.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/gaze/progress.h"
#include "apps/gaze/scene_options.h"
#include "models/data/class_folders.h"
#include "models/data/scene_files.h"

namespace gaze::apps {
namespace {

struct DataScenes {
  std::filesystem::path out;
  models::SceneFileOptions files;
  std::string format = "jpg";
  SceneFlags scenes;
  CommonOptions common;
  bool json = false;
};

int write(const DataScenes& command) {
  const models::SceneOptions options = scene_options(command.scenes, command.common.seed);
  apply(command.common);
  const models::SceneComposer composer(options);
  warn_of_missing_grounds(composer);
  models::SceneFileOptions files = command.files;
  files.threads = at::get_num_threads();
  files.format = command.format.c_str();
  {
    Progress progress("scenes");
    models::write_scenes(composer, files, command.out,
                         [&](int64_t done, int64_t count) { progress.show(done, count); });
  }
  if (command.json) {
    std::cout << nlohmann::json{{"folder", command.out.string()}, {"scenes", files.count}}.dump() << "\n";
  } else {
    std::cout << fmt::format("{}: {} scenes\n", command.out.string(), files.count);
  }
  return kOk;
}

struct DataClasses {
  std::filesystem::path out;
  models::ClassFolderOptions folders;
  CommonOptions common;
  bool json = false;
};

int write(const DataClasses& command) {
  apply(command.common);
  models::ClassFolderOptions options = command.folders;
  options.seed = command.common.seed;
  options.threads = at::get_num_threads();
  {
    Progress progress("pictures");
    models::write_class_folders(options, command.out,
                                [&](int64_t done, int64_t count) { progress.show(done, count); });
  }
  const size_t classes = options.nouns.empty() ? static_cast<size_t>(options.classes) : options.nouns.size();
  if (command.json) {
    std::cout << nlohmann::json{{"folder", command.out.string()},
                                {"classes", classes},
                                {"count", options.count}}
                     .dump()
              << "\n";
  } else {
    std::cout << fmt::format("{}: {} classes of {} pictures\n", command.out.string(), classes, options.count);
  }
  return kOk;
}

void add_data_classes(CLI::App& data, Run& run) {
  auto command = std::make_shared<DataClasses>();
  models::ClassFolderOptions& folders = command->folders;
  CLI::App* classes = data.add_subcommand(
      "classes",
      "Composes pictures of one thing each, in a folder a class, to train a classifier on."
      "\n\nExample:\n  gaze data classes --out out/classes --classes 5 --count 50\n"
      "writes train/NOUN/001.jpg ... and val/NOUN/001.jpg ..., the latter on other grounds.");
  classes->add_option("--out", command->out, "folder to write")->required();
  auto* nouns =
      classes->add_option("--nouns", folders.nouns, "the classes, by the stamps' nouns: apple,fish,...")
          ->delimiter(',');
  classes->add_option("--classes", folders.classes, "or how many: the nouns with the most stamps")
      ->check(CLI::Range(2, 1000))
      ->excludes(nouns)
      ->capture_default_str();
  classes->add_option("--count", folders.count, "pictures a class")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  classes->add_option("--val-share", folders.val_share, "share of them to validate on")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  classes->add_option("--size", folders.size, "side of the pictures")
      ->check(CLI::Range(64, 2048))
      ->capture_default_str();
  classes->add_option("--packages", folders.folders.root, "folder Debian packages are unpacked in")
      ->capture_default_str();
  add_common_options(*classes, command->common);
  classes->add_flag("--json", command->json, "print the result as JSON");
  classes->callback([command, &run] { run = [command] { return write(*command); }; });
}

}  // namespace

void add_data(CLI::App& app, Run& run) {
  CLI::App* data = app.add_subcommand("data",
                                      "Makes data to train and to judge with.\n\nExample:\n"
                                      "  gaze data scenes --out out/scenes --count 20");
  data->require_subcommand(1);
  add_data_classes(*data, run);
  add_data_pairs(*data, run);
  auto command = std::make_shared<DataScenes>();
  CLI::App* scenes = data->add_subcommand("scenes",
                                          "Composes scenes of cut-out photographs, with captions and masks; "
                                          "run it again to go on after it was stopped.\n\nExample:\n"
                                          "  gaze data scenes --out out/scenes --count 20\n"
                                          "writes images/, captions.json and instances.json (COCO), and "
                                          "scenes.json. The same seed gives the same scenes.");
  scenes->add_option("--out", command->out, "folder to write")->required();
  scenes->add_option("--count", command->files.count, "how many scenes")
      ->required()
      ->check(CLI::Range(1, 1000000));
  scenes->add_option("--format", command->format, "of the pictures")
      ->check(CLI::IsMember({"jpg", "png"}))
      ->capture_default_str();
  add_scene_options(*scenes, command->scenes);
  add_common_options(*scenes, command->common);
  scenes->add_flag("--json", command->json, "print the result as JSON");
  scenes->callback([command, &run] { run = [command] { return write(*command); }; });
}

}  // namespace gaze::apps
