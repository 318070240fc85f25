// gaze data pairs: writes pairs of texts, a source and its translation, to learn translation from.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/gaze/data.h"
#include "models/data/date_pairs.h"
#include "models/data/parallel_texts.h"
#include "models/data/text_pairs.h"

namespace gaze::apps {
namespace {

constexpr const char *kDates = "dates", *kEnglishChinese = "english-chinese";

struct DataPairs {
  std::filesystem::path out;
  std::string kind;
  std::string split = "train";
  int64_t count = 0;  // 0: 10000 dates, or all sentences
  models::ParallelTextOptions texts;
  CommonOptions common;
  bool json = false;
};

std::vector<models::TextPair> dates(const DataPairs& command) {
  models::DatePairOptions options;
  options.split = models::split_from_text(command.split);
  options.seed = command.common.seed;
  if (command.count > 0) options.count = command.count;
  return models::date_pairs(options);
}

std::vector<models::TextPair> sentences(const DataPairs& command) {
  models::ParallelTextOptions options = command.texts;
  options.split = models::split_from_text(command.split);
  options.seed = command.common.seed;
  std::vector<models::TextPair> pairs = models::english_chinese_pairs(options);
  std::vector<std::string> sources;
  for (const models::TextSource& source : models::text_sources())
    sources.push_back(fmt::format("{} ({})", source.package, source.licence));
  warn(fmt::format("the texts are of the Debian packages {}", fmt::join(sources, ", ")));
  const auto wanted = static_cast<size_t>(command.count);
  if (wanted > pairs.size()) warn(fmt::format("there are {} pairs, not {}", pairs.size(), wanted));
  if (wanted > 0 && wanted < pairs.size()) pairs.resize(wanted);
  return pairs;
}

int write(const DataPairs& command) {
  apply(command.common);
  const std::vector<models::TextPair> pairs = command.kind == kDates ? dates(command) : sentences(command);
  models::write_text_pairs(command.out, pairs);
  if (command.json) {
    std::cout << nlohmann::json{{"file", command.out.string()}, {"pairs", pairs.size()}}.dump() << "\n";
  } else {
    std::cout << fmt::format("{}: {} pairs\n", command.out.string(), pairs.size());
  }
  return kOk;
}

}  // namespace

void add_data_pairs(CLI::App& data, Run& run) {
  auto command = std::make_shared<DataPairs>();
  CLI::App* pairs = data.add_subcommand(
      "pairs",
      "Writes pairs of texts to learn translation from, one a line: source, tab, target, and where it is "
      "known a "
      "tab and which characters belong together (links SOURCE-TARGET, from 0).\n\nExample:\n"
      "  gaze data pairs --kind dates --out out/dates.tsv --count 1000\n"
      "dates: written as people do, in English and Chinese, and in ISO form. english-chinese: small "
      "sentences, and "
      "what the Debian packages tuxpaint-stamps-default, tuxpaint-data and aisleriot carry. Train, val and "
      "test "
      "share no date in the same form, and no English text.");
  pairs->add_option("--kind", command->kind, "what to write")
      ->required()
      ->check(CLI::IsMember({kDates, kEnglishChinese}));
  pairs->add_option("--out", command->out, "file to write")->required();
  pairs->add_option("--split", command->split, "train, val or test")
      ->check(CLI::IsMember({"train", "val", "test"}))
      ->capture_default_str();
  pairs->add_option("--count", command->count, "how many; if not given, 10000 dates, or all sentences")
      ->check(CLI::Range(1, 10000000));
  pairs->add_option("--locale", command->texts.locale, "zh_CN, or zh_TW for traditional characters")
      ->check(CLI::IsMember({"zh_CN", "zh_TW"}))
      ->capture_default_str();
  pairs->add_option("--packages", command->texts.folders.root, "folder Debian packages are unpacked in")
      ->capture_default_str();
  add_common_options(*pairs, command->common);
  pairs->add_flag("--json", command->json, "print the result as JSON");
  pairs->callback([command, &run] { run = [command] { return write(*command); }; });
}

}  // namespace gaze::apps
