// gaze eval: how good a caption model is, on composed scenes and on real photographs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/gaze/command.h"
#include "apps/gaze/eval.h"
#include "apps/gaze/network_source.h"
#include "apps/gaze/progress.h"
#include "apps/gaze/scene_options.h"
#include "apps/gaze/scene_tally.h"
#include "models/captioner/captioner.h"
#include "models/data/photographs.h"
#include "models/data/scene_files.h"

namespace gaze::apps {
namespace {

using nlohmann::json;

struct EvalCommand {
  std::filesystem::path model;
  models::SearchOptions search;
  int64_t batch = 16;
  bool json = false, each = false;
  CommonOptions common;
};

struct EvalScenes : EvalCommand {
  std::filesystem::path data;
  int64_t count = 1000;
  SceneFlags scenes;
};

struct EvalPhotographs : EvalCommand {
  models::DataFolders folders;
};

// A share as "61.2 %", or "-".
std::string percent(const json& share) {
  return share.is_null() ? "-" : fmt::format("{:.1f} %", 100 * share.get<double>());
}

void print_lines(const std::vector<json>& lines, bool as_json) {
  if (!as_json) std::cout << "scenes  objects  stamps     nouns   relations  CIDEr-D  pointing  (centre)\n";
  for (const json& line : lines) {
    if (as_json) {
      std::cout << line.dump() << "\n";
      continue;
    }
    std::cout << fmt::format(
        "{:>6}  {:>7}  {:<8} {:>8} {:>10} {:>8.2f} {:>9} {:>9}\n", line["n"].get<int64_t>(),
        line["objects"].get<int64_t>(), line["held_out"].get<bool>() ? "held out" : "trained",
        percent(line["nouns_right"]), percent(line["relations_right"]), line["cider_d"].get<double>(),
        percent(line["pointing"]), percent(line["pointing_centre"]));
  }
  std::cout.flush();
}

int eval_scenes(const EvalScenes& command) {
  const models::SceneOptions options = scene_options(command.scenes, command.common.seed);
  apply(command.common);
  models::Captioner captioner = load_captioner({command.model, "", ""});
  std::optional<models::SceneFolder> folder;
  std::optional<models::SceneComposer> composer;
  if (!command.data.empty()) {
    folder.emplace(command.data);
  } else {
    composer.emplace(options);
    warn_of_missing_grounds(*composer);
  }
  const int64_t count = folder ? folder->size() : command.count;

  SceneTally tally;
  {
    Progress progress("scenes");
    for (int64_t first = 0; first < count; first += command.batch) {
      const int64_t last = std::min(count, first + command.batch);
      std::vector<models::Scene> scenes;
      std::vector<models::Image> images;
      for (int64_t i = first; i < last; ++i) {
        scenes.push_back(folder ? folder->read(i) : composer->compose(static_cast<uint64_t>(i)));
        images.push_back(scenes.back().image);
      }
      const auto results = captioner.caption(images, command.search);
      for (size_t i = 0; i < scenes.size(); ++i) {
        const models::CaptionScore score = tally.add(scenes[i], results[i]);
        if (!command.each) continue;
        std::cout << json{{"scene", first + static_cast<int64_t>(i)},
                          {"caption", results[i].captions.front().text},
                          {"truth", scenes[i].captions.front()},
                          {"nouns_right", score.nouns_right},
                          {"relations_right",
                           scenes[i].relations.empty() ? json() : json(score.relations_right)}}
                         .dump()
                  << "\n";
      }
      progress.show(last, count);
    }
  }
  print_lines(tally.lines(), command.json);
  return kOk;
}

// Whether the caption names one of the nouns among its things; the place does not count.
bool names_one_of(const models::Caption& caption, const std::vector<std::string>& nouns) {
  const models::ParsedCaption parsed = models::parse_caption(models::words_of(caption.text));
  return std::any_of(parsed.phrases.begin(), parsed.phrases.end(), [&](const models::NounPhrase& phrase) {
    return std::any_of(nouns.begin(), nouns.end(),
                       [&](const std::string& noun) { return models::mentions(phrase.name, noun); });
  });
}

int eval_photographs(const EvalPhotographs& command) {
  apply(command.common);
  models::Captioner captioner = load_captioner({command.model, "", ""});
  int64_t all = 0, right = 0, missing = 0;
  for (const models::Photograph& photograph : models::photograph_table()) {
    if (photograph.role != "test") continue;
    ++all;
    const std::filesystem::path file = models::photograph_file(photograph, command.folders);
    json line = {{"photograph", photograph.id}, {"file", file.string()}, {"nouns", photograph.nouns}};
    try {
      const auto results = captioner.caption({models::load_image(file)}, command.search);
      const models::Caption& caption = results.front().captions.front();
      line["caption"] = caption.text;
      line["right"] = names_one_of(caption, photograph.nouns);
      right += line["right"].get<bool>();
    } catch (const std::exception& error) {
      line["error"] = error.what();
      ++missing;
    }
    if (command.json) {
      std::cout << line.dump() << std::endl;
    } else if (line.contains("error")) {
      std::cout << fmt::format("missing  {:<12} package {}: {}\n", photograph.id, photograph.package,
                               line["error"].get<std::string>());
    } else {
      std::cout << fmt::format("{:<7}  {:<12} {}   ({})\n", line["right"].get<bool>() ? "right" : "wrong",
                               photograph.id, line["caption"].get<std::string>(),
                               fmt::join(photograph.nouns, ", "));
    }
  }
  if (command.json) {
    std::cout << json{{"photographs", all}, {"right", right}, {"missing", missing}}.dump() << "\n";
  } else {
    std::cout << fmt::format("{} of {} right, {} missing\n", right, all, missing);
  }
  std::cout.flush();
  if (missing == all) return kFailure;
  return missing > 0 ? kSomeFailed : kOk;
}

void add_eval_options(CLI::App& command, EvalCommand& options) {
  command.add_option("--model", options.model, "caption model; the bundled one unless given");
  command.add_option("--beam", options.search.beam, "captions the search keeps at each word; 1 is greedy")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command
      .add_option("--length-penalty", options.search.length_penalty,
                  "captions are ranked by log-probability / ((5 + length) / 6) ^ this")
      ->check(CLI::Range(-10.0, 10.0))
      ->capture_default_str();
  command.add_option("--batch", options.batch, "pictures captioned at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_flag("--json", options.json, "print a JSON object a line");
  add_common_options(command, options.common);
}

}  // namespace

void add_eval(CLI::App& app, Run& run) {
  CLI::App* eval = app.add_subcommand(
      "eval", "Judges a caption model, or a translator.\n\nExample:\n  gaze eval photographs");
  eval->require_subcommand(1);

  auto scenes = std::make_shared<EvalScenes>();
  CLI::App* on_scenes =
      eval->add_subcommand("scenes",
                           "Captions composed scenes and prints, for each number of objects, how often all "
                           "nouns and then the relations are right,\n"
                           "CIDEr-D, and how often a noun's map is hottest on its object.\n\nExample:\n  "
                           "gaze eval scenes --count 100");
  CLI::Option* data = on_scenes->add_option("--data", scenes->data, "folder made by gaze data scenes");
  on_scenes->add_option("--count", scenes->count, "scenes to compose where there is no --data")
      ->check(CLI::Range(1, 1000000))
      ->excludes(data)
      ->capture_default_str();
  add_scene_options(*on_scenes, scenes->scenes);
  on_scenes->add_flag("--each", scenes->each,
                      "also print a JSON object a scene: caption, truth, right or not");
  add_eval_options(*on_scenes, *scenes);
  on_scenes->callback([scenes, &run] { run = [scenes] { return eval_scenes(*scenes); }; });

  auto photographs = std::make_shared<EvalPhotographs>();
  CLI::App* on_photographs =
      eval->add_subcommand("photographs",
                           "Captions every test photograph of the table and says whether an accepted noun is "
                           "in the caption; those that are not\n"
                           "installed are listed as missing.\n\nExample:\n  gaze eval photographs");
  on_photographs
      ->add_option("--packages", photographs->folders.root, "folder Debian packages are unpacked in")
      ->capture_default_str();
  add_eval_options(*on_photographs, *photographs);
  on_photographs->callback(
      [photographs, &run] { run = [photographs] { return eval_photographs(*photographs); }; });

  add_eval_pairs(*eval, run);
}

}  // namespace gaze::apps
