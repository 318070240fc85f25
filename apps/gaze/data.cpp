// gaze data scenes: composes scenes and writes them to a folder.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/gaze/command.h"
#include "apps/gaze/progress.h"
#include "apps/gaze/scene_options.h"
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

}  // namespace

void add_data(CLI::App& app, Run& run) {
  CLI::App* data = app.add_subcommand("data",
                                      "Makes data to train and to judge with.\n\nExample:\n"
                                      "  gaze data scenes --out out/scenes --count 20");
  data->require_subcommand(1);
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
