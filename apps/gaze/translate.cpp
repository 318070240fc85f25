// gaze translate: a line in, its translation out, and what each token of it looked at.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gaze/command.h"
#include "models/overlay/alignment.h"
#include "models/sequence/text_translator.h"
#include "modules/core/atomic_file.h"
#include "modules/core/error.h"
#include "modules/core/utf8.h"

namespace gaze::apps {
namespace {

struct Translate {
  std::vector<std::string> texts;
  std::filesystem::path model, align;
  models::SearchOptions search;
  int64_t batch = 32;
  bool json = false;
  CommonOptions common;
};

models::Alignment alignment_of(const models::Translation& translation) {
  models::Alignment alignment;
  for (const models::TextToken& token : translation.source) alignment.source.push_back(token.text);
  for (const models::TranslatedToken& token : translation.tokens) {
    alignment.target.push_back(token.text);
    const float* const weights = token.weights.const_data_ptr<float>();
    alignment.weights.emplace_back(weights, weights + token.weights.numel());
  }
  return alignment;
}

class Translation {
 public:
  explicit Translation(const Translate& options)
      : options_(options), translator_(models::TextTranslator::load(options.model)) {
    if (options_.align.empty()) return;
    if (!translator_.translator()->options().attention)
      throw UsageError("--align: this model has no attention, and so no alignment to draw");
    std::error_code failed;
    std::filesystem::create_directories(options_.align, failed);
    if (failed)
      throw FileError(options_.align.string(), failed.message(), "give --align a folder that can be written");
  }

  int run() {
    std::vector<std::string> batch;
    int64_t number = 0;
    const auto add = [&](std::string line) {
      ++number;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (number == 1 && line.rfind(kByteOrderMark, 0) == 0) line.erase(0, kByteOrderMark.size());
      batch.push_back(in_utf8(line, number));
      if (static_cast<int64_t>(batch.size()) < options_.batch) return;
      answer(batch);
      batch.clear();
    };
    if (options_.texts.empty()) {
      for (std::string line; std::getline(std::cin, line);) add(line);
    } else {
      for (const std::string& text : options_.texts) add(text);
    }
    if (!batch.empty()) answer(batch);
    return cut_ || damaged_ ? kSomeFailed : kOk;
  }

 private:
  static constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

  // Bytes that are not UTF-8 become U+FFFD, and are told.
  std::string in_utf8(const std::string& line, int64_t number) {
    const size_t valid = valid_utf8_bytes(line);
    if (valid == line.size()) return line;
    warn(fmt::format("line {}: byte {} is not UTF-8; read as U+FFFD", number, valid + 1));
    damaged_ = true;
    std::string mended;
    for (const std::string_view character : characters(line)) mended += utf8_text(code_point(character));
    return mended;
  }

  void answer(const std::vector<std::string>& texts) {
    const std::vector<models::Translation> translations = translator_.translate(texts, options_.search);
    for (size_t i = 0; i < texts.size(); ++i) {
      ++line_;
      const models::Translation& translation = translations[i];
      if (!translation.finished) {
        warn(fmt::format("line {}: cut at {} tokens; the model was made for shorter texts", line_,
                         translation.tokens.size()));
        cut_ = true;
      }
      if (options_.json) {
        std::cout << to_json(texts[i], translation).dump() << "\n";
      } else {
        std::cout << translation.text << "\n";
      }
      if (!options_.align.empty() && !translation.tokens.empty()) {
        write_atomically(options_.align / fmt::format("{:04}.svg", line_),
                         models::alignment_svg(alignment_of(translation)));
      }
    }
    flush_output();
  }

  const Translate& options_;
  models::TextTranslator translator_;
  int64_t line_ = 0;
  bool cut_ = false, damaged_ = false;
};

}  // namespace

void add_translate(CLI::App& app, Run& run) {
  auto options = std::make_shared<Translate>();
  options->search.max_words = 1000;  // the model's own limit is less
  CLI::App* command = app.add_subcommand(
      "translate",
      "Translates texts, a line each, with a model of `gaze train translate`.\n\nExample:\n"
      "  gaze data pairs --kind dates --out out/dates.tsv --count 20000\n"
      "  gaze train translate --data out/dates.tsv --out out/dates\n"
      "  echo 'March 3, 2024' | gaze translate --model out/dates/model.safetensors --align out/alignment");
  command->add_option("TEXT", options->texts, "texts to translate; the lines of stdin unless given");
  command->add_option("--model", options->model, "model file")->required();
  command->add_option("--align", options->align,
                      "folder to draw into: NNNN.svg, what each token of line NNNN's translation looked at");
  command
      ->add_option("--beam", options->search.beam, "translations the search keeps at each token; 1 is greedy")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command
      ->add_option("--length-penalty", options->search.length_penalty,
                   "translations are ranked by log-probability / ((5 + length) / 6) ^ this")
      ->check(CLI::Range(-10.0, 10.0))
      ->capture_default_str();
  command->add_option("--batch", options->batch, "lines translated at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--json", options->json, "print a JSON object a line, with every token's weights");
  add_common_options(*command, options->common);
  command->callback([options, &run] {
    run = [options] {
      apply(options->common);
      return Translation(*options).run();
    };
  });
}

}  // namespace gaze::apps
