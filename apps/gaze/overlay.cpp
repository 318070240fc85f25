// gaze overlay: draws where every word of a caption looked, on the pictures themselves.
#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/gaze/command.h"
#include "apps/gaze/overlay_options.h"
#include "apps/gaze/picture_list.h"
#include "models/captioner/captioner.h"
#include "models/explain/activation_maps.h"
#include "models/explain/caption_maps.h"
#include "models/image/image.h"
#include "models/overlay/output_names.h"
#include "models/overlay/sha256.h"
#include "modules/core/error.h"

namespace gaze::apps {
namespace {

namespace fs = std::filesystem;

bool wants(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void print(const OverlayCommand& command, const OverlayRun& run, const std::string& picture,
           const fs::path& folder, const models::Caption& caption) {
  if (command.json) {
    const nlohmann::json line = {{"image", picture},
                                 {"folder", folder.string()},
                                 {"caption", caption.text},
                                 {"log_probability", caption.log_probability}};
    std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  } else {
    const char* shown = run.report                  ? "report.html"
                        : run.drawings && run.words ? "strip.png"
                                                    : "manifest.json";
    std::cout << fmt::format("{}: {}  -> {}", picture, caption.text, (folder / shown).string()) << std::endl;
  }
}

void print_error(const OverlayCommand& command, const std::string& picture, const std::string& error) {
  warn(error);
  if (!command.json) return;
  const nlohmann::json line = {{"image", picture}, {"error", error}};
  std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

// Everything that is the same for all pictures of this run.
OverlayRun describe(const OverlayCommand& command, const fs::path& model_file) {
  OverlayRun run;
  run.model_file = model_file;
  run.model_sha256 = models::file_sha256(model_file);
  run.style = command.style;
  run.style.draw.colormap = models::colormap_named(command.colormap);
  run.style.legend = !command.no_legend;
  for (const double percent : command.contours) run.style.draw.contours.push_back(percent / 100);
  run.words = wants(command.maps, "cross");
  run.gates = wants(command.maps, "cbam");
  run.drawings = wants(command.formats, "png");
  run.raw = wants(command.formats, "npy");
  run.report = wants(command.formats, "html");
  run.options = to_json(command.search);
  run.options["maps"] = command.maps;
  run.options["layer"] = command.explain.layer;
  run.options["steps"] = command.explain.steps;
  run.options["backbone"] = command.source.backbone;
  run.options["weights"] = command.source.weights.string();
  return run;
}

// A line a layer that --layer takes, in the order the data takes: its name and its shape for the model's
// input.
int list_layers(const OverlayCommand& command) {
  models::Captioner captioner = load_captioner(command.source);
  const models::Preprocessing& input = captioner.preprocessing();
  for (const TappedPlace& place :
       models::layers_of(captioner.backbone(), torch::zeros({1, 3, input.height, input.width}))) {
    std::cout << fmt::format("{:<12} {} x {} x {}\n", place.name, place.shape[1], place.shape[2],
                             place.shape[3]);
  }
  return kOk;
}

ExplainedPicture explain(const OverlayCommand& command, models::Captioner& captioner,
                         const models::Image& picture, const models::SearchOptions& search, bool gates) {
  const std::vector<models::PreparedImage> prepared = {
      models::preprocess(picture, captioner.preprocessing())};
  ExplainedPicture found;
  found.result = std::move(
      command.search.text ? captioner.score_prepared(prepared, *command.search.text, search, gates).front()
                          : captioner.caption_prepared(prepared, search, gates).front());
  for (const models::Caption& caption : found.result.captions) {
    found.maps.emplace_back();
    for (const std::string& method : models::caption_map_methods()) {
      if (!wants(command.maps, method)) continue;
      models::CaptionMapsOptions options = command.explain;
      options.method = method;
      found.maps.back().push_back(models::caption_maps(captioner, prepared.front().input, caption, options));
    }
  }
  return found;
}

int overlay(const OverlayCommand& command) {
  check_own(command.source);
  check(command.search);
  apply(command.common);
  if (command.list_layers) return list_layers(command);
  if (command.paths.empty()) throw UsageError("give pictures, or folders of them");
  if (command.out.empty()) throw UsageError("--out: give the folder to write to");
  const std::vector<fs::path> pictures = some_pictures(command.paths);
  models::Captioner captioner = load_captioner(command.source);
  const models::SearchOptions search = resolve(command.search, captioner, command.common.seed);
  const OverlayRun run = describe(command, captioner_file(command.source));
  const std::vector<fs::path> folders = models::picture_folders(pictures);

  size_t failed = 0;
  for (size_t i = 0; i < pictures.size(); ++i) {
    const std::string name = pictures[i].string();
    models::Image picture;
    ExplainedPicture found;
    try {
      picture = models::load_image(pictures[i], command.image);
      models::SearchOptions own = search;
      own.sampling.inputs = {i};
      found = explain(command, captioner, picture, own, run.gates);
    } catch (const std::exception& error) {
      print_error(command, name, error.what());
      ++failed;
      continue;
    }
    // A file that cannot be written ends the run: the next picture's would fare no better.
    write_overlay(command.out / folders[i], name, picture, found, run);
    print(command, run, name, command.out / folders[i], found.result.captions.front());
  }
  if (failed == 0) return kOk;
  return failed < pictures.size() ? kSomeFailed : kFailure;
}

}  // namespace

void add_overlay(CLI::App& app, Run& run) {
  auto command = std::make_shared<OverlayCommand>();
  CLI::App* sub = app.add_subcommand(
      "overlay",
      "Draws where every word of a caption looked, on the pictures themselves.\n\nExample:\n"
      "  gaze overlay tests/photos/penguin.jpg --out out\n"
      "For each picture a folder OUT/<its path without extension>: strip.png (all words), word__01_a.png ... "
      "(one each, at\n"
      "the picture's own size), the raw maps as .npy, and manifest.json, written last.");
  add_overlay_options(*sub, *command);
  sub->callback([command, &run] { run = [command] { return overlay(*command); }; });
}

}  // namespace gaze::apps
