// gaze eval pairs: how good a translator is on pairs it has not seen.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/gaze/eval.h"
#include "apps/gaze/progress.h"
#include "models/data/text_pairs.h"
#include "models/metrics/chrf.h"
#include "models/sequence/text_translator.h"

namespace gaze::apps {
namespace {

struct EvalPairs {
  std::filesystem::path data, model;
  models::SearchOptions search;
  int64_t batch = 64;
  bool json = false, each = false;
  CommonOptions common;
};

int eval_pairs(const EvalPairs& command) {
  apply(command.common);
  models::TextTranslator translator = models::TextTranslator::load(command.model);
  const models::TextPairFile file = models::read_text_pairs(command.data);
  const std::string problems = models::problem_report(command.data, file);
  if (!problems.empty()) warn(problems);
  const auto count = static_cast<int64_t>(file.pairs.size());
  std::vector<models::TranslatedLine> lines;
  int64_t exact = 0;
  {
    Progress progress("pairs");
    for (int64_t first = 0; first < count; first += command.batch) {
      const int64_t last = std::min(count, first + command.batch);
      std::vector<std::string> sources;
      for (int64_t i = first; i < last; ++i) sources.push_back(file.pairs[static_cast<size_t>(i)].source);
      const auto translations = translator.translate(sources, command.search);
      for (int64_t i = first; i < last; ++i) {
        const models::TextPair& pair = file.pairs[static_cast<size_t>(i)];
        const std::string& said = translations[static_cast<size_t>(i - first)].text;
        exact += said == pair.target ? 1 : 0;
        lines.push_back({said, {pair.target}});
        if (command.each)
          std::cout << nlohmann::json{{"source", pair.source}, {"target", pair.target}, {"translation", said}}
                           .dump()
                    << "\n";
      }
      progress.show(last, count);
    }
  }
  const double share = static_cast<double>(exact) / static_cast<double>(count);
  const double chrf = models::chrf2(lines).corpus;
  if (command.json) {
    std::cout << nlohmann::json{{"pairs", count}, {"exact", share}, {"chrf2", chrf}}.dump() << "\n";
  } else {
    std::cout << fmt::format("{} pairs: {:.1f} % to the letter, chrF2 {:.1f}\n", count, 100 * share, chrf);
  }
  return kOk;
}

}  // namespace

void add_eval_pairs(CLI::App& eval, Run& run) {
  auto options = std::make_shared<EvalPairs>();
  options->search.max_words = 1000;  // the model's own limit is less
  CLI::App* command =
      eval.add_subcommand("pairs",
                          "Translates the sources of a file of pairs: the share that is translated to the "
                          "letter, and chrF2 as sacrebleu "
                          "computes it.\n\nExample:\n"
                          "  gaze data pairs --kind dates --split test --out out/held-out.tsv --count 1000\n"
                          "  gaze eval pairs --data out/held-out.tsv --model out/dates/model.safetensors");
  command->add_option("--data", options->data, "pairs: source, tab, target; a pair a line")->required();
  command->add_option("--model", options->model, "model file of `gaze train translate`")->required();
  command
      ->add_option("--beam", options->search.beam, "translations the search keeps at each token; 1 is greedy")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--batch", options->batch, "lines translated at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--each", options->each, "print every translation first, a JSON object a line");
  command->add_flag("--json", options->json, "print the result as JSON");
  add_common_options(*command, options->common);
  command->callback([options, &run] { run = [options] { return eval_pairs(*options); }; });
}

}  // namespace gaze::apps
