// gaze caption: says what is on pictures.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "apps/gaze/caption_run.h"
#include "apps/gaze/command.h"
#include "apps/gaze/network_source.h"
#include "apps/gaze/picture_list.h"
#include "apps/gaze/search_options.h"
#include "models/overlay/sha256.h"
#include "modules/core/number_text.h"

namespace gaze::apps {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, CaptionFormat> kFormats = {
    {"text", CaptionFormat::text}, {"jsonl", CaptionFormat::jsonl}, {"csv", CaptionFormat::csv}};

struct CaptionCommand {
  std::vector<std::string> paths;
  bool null = false;
  NetworkSource source;
  SearchFlags search;
  models::ImageOptions image;
  int64_t batch = 8, decode_threads = 0;
  std::optional<CaptionFormat> format;
  bool json = false, words = false, overwrite = false;
  fs::path out;
  CommonOptions common;
};

CaptionFormat format_of(const CaptionCommand& command) {
  if (command.format) return *command.format;
  if (command.json) return CaptionFormat::jsonl;
  if (command.out.empty()) return CaptionFormat::text;
  const std::string extension = command.out.extension().string();
  if (extension == ".jsonl") return CaptionFormat::jsonl;
  if (extension == ".csv") return CaptionFormat::csv;
  throw UsageError(fmt::format("--out {}: expected a name that ends in .jsonl or .csv, or --format with it",
                               command.out.string()));
}

void check(const CaptionCommand& command) {
  check_own(command.source);
  check(command.search);
  const bool text = format_of(command) == CaptionFormat::text;
  if (!command.out.empty() && text) throw UsageError("--out takes --format jsonl or csv, not text");
  if (command.words && !text)
    throw UsageError("--words is for text; JSON and CSV have each word's log-probability without it");
}

CaptionPlan plan_of(const CaptionCommand& command, models::Captioner& captioner) {
  CaptionPlan plan;
  plan.search = resolve(command.search, captioner, command.common.seed);
  plan.text = command.search.text;
  plan.batch = command.batch;
  plan.stream.image = command.image;
  // A core that decodes keeps about as many busy that caption.
  const int64_t half = std::thread::hardware_concurrency() / 2;
  plan.stream.threads = command.decode_threads > 0 ? command.decode_threads : std::clamp<int64_t>(half, 1, 8);
  return plan;
}

nlohmann::json manifest_of(const CaptionCommand& command, const CaptionPlan& plan) {
  const fs::path model = captioner_file(command.source);
  nlohmann::json options = to_json(command.search);
  options["best"] = plan.search.best;
  if (plan.search.sampling.samples > 0) options["seed"] = command.common.seed;
  options["backbone"] = command.source.backbone;
  options["weights"] =
      command.source.weights.empty() ? "" : "sha256 " + models::file_sha256(command.source.weights);
  return {{"gaze", GAZE_VERSION},
          {"model", {{"file", model.string()}, {"sha256", models::file_sha256(model)}}},
          {"options", options}};
}

int caption(const CaptionCommand& command) {
  check(command);
  apply(command.common);
  std::vector<fs::path> pictures = some_pictures(command.paths, command.null ? '\0' : '\n');
  if (const int64_t repeats = remove_repeats(pictures); repeats > 0)
    warn(fmt::format("{} pictures are named again; each is captioned once", grouped(repeats)));
  models::Captioner captioner = load_captioner(command.source);
  const CaptionPlan plan = plan_of(command, captioner);
  const CaptionStyle style{format_of(command), command.words || command.search.text.has_value()};
  const bool seen = command.out.empty() && ::isatty(STDOUT_FILENO) == 1;
  CaptionTally tally(static_cast<int64_t>(pictures.size()), !seen);
  const CaptionRun run{captioner, plan, style, pictures, tally};
  if (command.out.empty()) {
    print_captions(run);
  } else {
    CaptionFile file(
        {command.out, style.format, plan.search.best, manifest_of(command, plan), command.overwrite});
    write_captions(run, file);
  }
  tally.name_failed();
  return tally.status();
}

void add_input_options(CLI::App& sub, CaptionCommand& command) {
  sub.add_option("pictures", command.paths,
                 "pictures, folders of them, 'photos/**/*.jpg' in quotes, or - for a list on standard input")
      ->required();
  sub.add_flag("--null,-0", command.null, "the list's paths end in a null byte, as find -print0 has them");
  sub.add_option("--max-pixels", command.image.max_pixels, "larger pictures are refused")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub.add_option("--batch", command.batch, "pictures captioned at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  sub.add_option("--decode-threads", command.decode_threads,
                 "threads that read pictures ahead [half the cores, at most 8]")
      ->check(CLI::Range(1, 64));
}

void add_output_options(CLI::App& sub, CaptionCommand& command) {
  CLI::Option* out =
      sub.add_option("--out", command.out,
                     "file to write, .jsonl or .csv; pictures that it has are left out, so a run that was "
                     "stopped goes on, and those that failed are tried again");
  sub.add_flag("--overwrite", command.overwrite, "begin the file anew")->needs(out);
  CLI::Option* json = sub.add_flag("--json", command.json, "the same as --format jsonl");
  sub.add_option("--format", command.format, "text, jsonl (an object a line) or csv")
      ->transform(CLI::CheckedTransformer(kFormats, CLI::ignore_case).description(""))
      ->excludes(json);
  sub.add_flag("--words", command.words, "each word's probability, too, on a line below the caption");
}

}  // namespace

void add_caption(CLI::App& app, Run& run) {
  auto command = std::make_shared<CaptionCommand>();
  CLI::App* sub = app.add_subcommand(
      "caption",
      "Says what is on pictures, with the probability of each caption.\n\nExample:\n"
      "  gaze caption tests/photos --out captions.csv\n"
      "A line a picture; with --json every word's log-probability, its map and what it looked at. With "
      "--backbone and\n"
      "--weights the bundled decoder reads the class evidence of your own network (1000 ImageNet classes).");
  add_input_options(*sub, *command);
  add_output_options(*sub, *command);
  add_captioner_options(*sub, command->source);
  add_search_options(*sub, command->search);
  add_text_option(*sub, command->search);
  add_common_options(*sub, command->common);
  sub->callback([command, &run] { run = [command] { return caption(*command); }; });
}

}  // namespace gaze::apps
