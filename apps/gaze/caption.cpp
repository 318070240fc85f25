// gaze caption: says what is on pictures.
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "apps/gaze/command.h"
#include "apps/gaze/network_source.h"
#include "models/captioner/captioner.h"
#include "models/image/image.h"
#include "modules/core/error.h"

namespace gaze::apps {
namespace {

constexpr int64_t kBatchPixels = 64'000'000;  // a batch is captioned before more than this is held in memory

struct CaptionCommand {
  std::vector<std::string> paths;
  NetworkSource source;
  models::SearchOptions search;
  models::ImageOptions image;
  int64_t batch = 8;
  bool json = false;
  CommonOptions common;
};

// A picture's turn in the output: read, or what went wrong.
struct Turn {
  std::string path;
  std::optional<models::Image> image;
  std::string error;
};

void check(const CaptionCommand& command) {
  if (command.search.best > command.search.beam) {
    throw UsageError(fmt::format("--best {}: expected 1..{}, the captions that --beam {} keeps",
                                 command.search.best, command.search.beam, command.search.beam));
  }
  check_own(command.source);
}

Turn read(const std::filesystem::path& path, const models::ImageOptions& options) {
  Turn turn{path.string(), std::nullopt, ""};
  try {
    turn.image = models::load_image(path, options);
  } catch (const std::exception& error) {
    turn.error = error.what();
  }
  return turn;
}

void print_json(const Turn& turn, const models::CaptionedImage* result) {
  const nlohmann::json line = result != nullptr ? models::to_json(turn.path, *result)
                                                : nlohmann::json{{"image", turn.path}, {"error", turn.error}};
  // A path need not be UTF-8; what is not becomes U+FFFD.
  std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

void print_text(const Turn& turn, const models::CaptionedImage* result) {
  if (result == nullptr) return;
  for (const models::Caption& caption : result->captions) {
    std::cout << fmt::format("{}: {}{}  ({:.2g} %)\n", turn.path,
                             caption.text.empty() ? "(no words)" : caption.text,
                             caption.finished ? "" : " ...", 100 * std::exp(caption.log_probability));
  }
}

// Captions the pictures that could be read and prints every turn in order; returns how many failed.
int64_t print(models::Captioner& captioner, std::vector<Turn> turns, const CaptionCommand& command) {
  std::vector<models::Image> images;
  for (Turn& turn : turns) {
    if (turn.image) images.push_back(std::move(*turn.image));
  }
  const std::vector<models::CaptionedImage> results = captioner.caption(images, command.search);
  auto next = results.begin();
  int64_t failed = 0;
  for (const Turn& turn : turns) {
    const models::CaptionedImage* result = turn.image ? &*next++ : nullptr;
    if (result == nullptr) {
      ++failed;
      warn(turn.error);
    }
    if (command.json) {
      print_json(turn, result);
    } else {
      print_text(turn, result);
    }
  }
  flush_output();
  return failed;
}

int caption(const CaptionCommand& command) {
  check(command);
  apply(command.common);
  const std::vector<std::filesystem::path> pictures = expand_pictures(command.paths);
  if (pictures.empty()) {
    throw FileError(command.paths.front(), "holds no pictures", "give JPEG, PNG, BMP, TIFF or WebP files");
  }
  models::Captioner captioner = load_captioner(command.source);

  int64_t failed = 0, pixels = 0;
  std::vector<Turn> turns;
  for (size_t i = 0; i < pictures.size(); ++i) {
    turns.push_back(read(pictures[i], command.image));
    if (turns.back().image) pixels += turns.back().image->width * turns.back().image->height;
    const bool full = static_cast<int64_t>(turns.size()) == command.batch || pixels >= kBatchPixels;
    if (!full && i + 1 < pictures.size()) continue;
    failed += print(captioner, std::exchange(turns, {}), command);
    pixels = 0;
  }
  if (failed == 0) return kOk;
  return failed < static_cast<int64_t>(pictures.size()) ? kSomeFailed : kFailure;
}

}  // namespace

void add_caption(CLI::App& app, Run& run) {
  auto command = std::make_shared<CaptionCommand>();
  CLI::App* sub = app.add_subcommand(
      "caption",
      "Says what is on pictures, with the probability of each caption.\n\nExample:\n"
      "  gaze caption tests/photos/penguin.jpg\n"
      "A line a picture; with --json every word's log-probability, its map and what it looked at. With "
      "--backbone and\n"
      "--weights the bundled decoder reads the class evidence of your own network (1000 ImageNet classes).");
  sub->add_option("pictures", command->paths, "pictures, or folders of them")->required();
  add_captioner_options(*sub, command->source);
  sub->add_option("--beam", command->search.beam, "captions the search keeps at each word; 1 is greedy")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  sub->add_option("--best", command->search.best, "captions to print a picture, at most --beam")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  sub->add_option("--max-words", command->search.max_words,
                  "longest caption; it ends in ... where it was cut")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  sub->add_option("--length-penalty", command->search.length_penalty,
                  "captions are ranked by log-probability / ((5 + length) / 6) ^ this")
      ->check(CLI::Range(-10.0, 10.0))
      ->capture_default_str();
  sub->add_option("--batch", command->batch, "pictures captioned at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  sub->add_option("--max-pixels", command->image.max_pixels, "larger pictures are refused")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub->add_flag("--json", command->json, "print a JSON object a line");
  add_common_options(*sub, command->common);
  sub->callback([command, &run] { run = [command] { return caption(*command); }; });
}

}  // namespace gaze::apps
