#include "apps/gaze/scene_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/gaze/command.h"

namespace gaze::apps {

void add_scene_options(CLI::App& command, SceneFlags& flags) {
  command.add_option("--split", flags.split, "whose grounds and stamps: train, val or test")
      ->check(CLI::IsMember({"train", "val", "test"}))
      ->capture_default_str();
  command.add_option("--objects", flags.objects, "objects a scene: a number or a range, 1 to 3")
      ->capture_default_str();
  command.add_option("--size", flags.options.size, "longer side of the pictures")
      ->check(CLI::Range(64, 2048))
      ->capture_default_str();
  command.add_flag("--vary-aspect", flags.options.vary_aspect, "pictures of many shapes instead of squares");
  command
      .add_option("--held-out", flags.options.held_out,
                  "val and test: share of scenes at least half of whose stamps were held out from training")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--packages", flags.options.folders.root, "folder Debian packages are unpacked in")
      ->capture_default_str();
}

models::SceneOptions scene_options(const SceneFlags& flags, uint64_t seed) {
  models::SceneOptions options = flags.options;
  options.split = models::split_from_text(flags.split);
  options.seed = seed;
  const std::string& range = flags.objects;
  const bool single = range.size() == 1, pair = range.size() == 3 && range[1] == '-';
  const auto in_range = [](char digit) { return digit >= '1' && digit <= '3'; };
  if (!(single || pair) || !in_range(range.front()) || !in_range(range.back()) ||
      range.front() > range.back()) {
    throw UsageError(
        fmt::format("--objects {}: expected a number or a range from 1 to 3, such as 2 or 1-3", range));
  }
  options.min_objects = range.front() - '0';
  options.max_objects = range.back() - '0';
  return options;
}

void warn_of_missing_grounds(const models::SceneComposer& composer) {
  const std::vector<std::string> missing = composer.missing_grounds();
  if (missing.empty()) return;
  warn(fmt::format("{} photographs of grounds are not installed, painted grounds stand in for them: {}",
                   missing.size(), fmt::join(missing, ", ")));
}

}  // namespace gaze::apps
