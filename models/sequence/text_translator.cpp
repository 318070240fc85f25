#include "models/sequence/text_translator.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "modules/core/check.h"
#include "modules/core/error.h"
#include "modules/core/without_warnings.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "translate";

const nlohmann::json& part(const ModelFile& model, const char* name) {
  check_that(model.description.is_object() && model.description.contains(name), kOp,
             fmt::format("a model with \"{}\"", name), "one without");
  return model.description[name];
}

Translator translator_of(const ModelFile& model) {
  check_that(part(model, "task") == "translate", kOp, "a model of the task \"translate\"",
             fmt::format("task {}", part(model, "task").dump()));
  const WithoutWarnings quiet;
  Translator translator(translator_options_from_json(part(model, "translator")));
  load_state_dict(*translator, with_prefix(model.weights, "translator."));
  return translator;
}

}  // namespace

nlohmann::json to_json(const std::string& source, const Translation& translation) {
  nlohmann::json tokens = nlohmann::json::array(), source_tokens = nlohmann::json::array();
  for (const TextToken& token : translation.source) source_tokens.push_back(token.text);
  for (const TranslatedToken& token : translation.tokens) {
    nlohmann::json entry{{"text", token.text}, {"log_probability", token.log_probability}};
    if (token.weights.defined()) {
      const float* const weights = token.weights.const_data_ptr<float>();
      entry["weights"] = std::vector<float>(weights, weights + token.weights.numel());
    }
    tokens.push_back(std::move(entry));
  }
  return {{"source", source},
          {"target", translation.text},
          {"log_probability", translation.log_probability},
          {"score", translation.score},
          {"finished", translation.finished},
          {"source_tokens", source_tokens},
          {"tokens", tokens}};
}

torch::Tensor padded(const std::vector<std::vector<int64_t>>& ids) {
  size_t longest = 0;
  for (const auto& row : ids) longest = std::max(longest, row.size());
  torch::Tensor batch = torch::full({static_cast<int64_t>(ids.size()), static_cast<int64_t>(longest)},
                                    Vocabulary::kPad, torch::kLong);
  auto at = batch.accessor<int64_t, 2>();
  for (size_t b = 0; b < ids.size(); ++b)
    for (size_t t = 0; t < ids[b].size(); ++t)
      at[static_cast<int64_t>(b)][static_cast<int64_t>(t)] = ids[b][t];
  return batch;
}

TextTranslator::TextTranslator(TextTokenizer source, TextTokenizer target, Translator translator)
    : source_(std::move(source)), target_(std::move(target)), translator_(std::move(translator)) {
  const TranslatorOptions& options = translator_->options();
  const auto check_size = [](int64_t expected, const TextTokenizer& tokenizer, const char* which) {
    check_that(expected == tokenizer.vocabulary().size(), kOp,
               fmt::format("the {} tokenizer's {} tokens", which, tokenizer.vocabulary().size()),
               fmt::format("{}_vocabulary {}", which, expected));
  };
  check_size(options.source_vocabulary, source_, "source");
  check_size(options.target_vocabulary, target_, "target");
}

TextTranslator::TextTranslator(const ModelFile& model)
    : TextTranslator(TextTokenizer::from_json(part(model, "source_tokenizer")),
                     TextTokenizer::from_json(part(model, "tokenizer")), translator_of(model)) {
  translator_->eval();
}

TextTranslator TextTranslator::load(const std::filesystem::path& path) {
  const ModelFile model = read_model_file(path);
  try {
    return TextTranslator(model);
  } catch (const ArgumentError& error) {
    throw FileError(path.string(), fmt::format("this model cannot translate: {}", error.what()),
                    "give a model that `gaze train translate` wrote");
  }
}

ModelFile TextTranslator::to_model_file(const nlohmann::json& provenance) const {
  ModelFile model;
  model.description = {{"format", 1},
                       {"task", "translate"},
                       {"translator", to_json(translator_->options())},
                       {"source_tokenizer", source_.to_json()},
                       {"tokenizer", target_.to_json()},
                       {"provenance", provenance}};
  for (const auto& [name, weight] : state_dict(*translator_))
    model.weights.emplace("translator." + name, weight.clone().contiguous());
  return model;
}

std::vector<Translation> TextTranslator::translate(const std::vector<std::string>& texts,
                                                   const SearchOptions& options) {
  check_search(options);
  const torch::NoGradGuard no_grad;
  std::vector<Translation> results(texts.size());
  std::vector<std::vector<int64_t>> ids;
  std::vector<size_t> places;  // of the texts that have tokens
  for (size_t i = 0; i < texts.size(); ++i) {
    results[i].source = source_.tokens(texts[i]);
    results[i].finished = true;
    std::vector<int64_t> encoded = source_.encode(texts[i]);
    if (encoded.empty()) continue;
    ids.push_back(std::move(encoded));
    places.push_back(i);
  }
  if (ids.empty()) return results;
  const bool training = translator_->is_training();
  translator_->eval();
  TranslationSteps steps(translator_, translator_->encode(padded(ids)), options.beam);
  const std::vector<std::vector<Hypothesis>> found = search(steps, options);
  translator_->train(training);
  for (size_t b = 0; b < places.size(); ++b) {
    const Hypothesis& best = found[b].front();
    Translation& result = results[places[b]];
    result.text = target_.decode(best.tokens);
    result.log_probability = best.log_probability;
    result.score = best.score;
    result.finished = best.finished;
    for (size_t t = 0; t < best.tokens.size(); ++t) {
      if (best.tokens[t] < Vocabulary::kSpecials) continue;
      TranslatedToken token{target_.vocabulary().word(best.tokens[t]), best.log_probabilities[t], {}};
      if (translator_->options().attention)
        token.weights = best.maps[t][0].narrow(0, 0, static_cast<int64_t>(ids[b].size())).contiguous();
      result.tokens.push_back(std::move(token));
    }
  }
  return results;
}

}  // namespace gaze::models
