#include "models/training/translation_training.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/data/text_pairs.h"
#include "models/sequence/text_translator.h"
#include "models/training/epoch_order.h"
#include "models/training/streams.h"
#include "modules/core/check.h"
#include "modules/core/random.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

constexpr char kOp[] = "train";
constexpr double kNoLoss = 1e9;

// A pair as ids; the target without start and end.
struct EncodedPair {
  std::vector<int64_t> source, target;
};

struct Pairs {
  std::vector<TextPair> train, val;
};

using Tell = std::function<void(const std::string&)>;

Pairs read_pairs(const TranslationRecipe& recipe, const Tell& tell) {
  Pairs pairs;
  const auto read = [&](const fs::path& path) {
    TextPairFile file = read_text_pairs(path);
    const std::string problems = problem_report(path, file);
    if (!problems.empty()) tell(problems);
    return std::move(file.pairs);
  };
  pairs.train = read(recipe.data);
  if (!recipe.val_data.empty()) {
    pairs.val = read(recipe.val_data);
    return pairs;
  }
  Random random({recipe.seed, kValidation});
  for (auto i = static_cast<int64_t>(pairs.train.size()) - 1; i > 0; --i)
    std::swap(pairs.train[static_cast<size_t>(i)], pairs.train[static_cast<size_t>(random.below(i + 1))]);
  const auto count = static_cast<size_t>(recipe.val_share * static_cast<double>(pairs.train.size()));
  pairs.val.assign(pairs.train.end() - static_cast<int64_t>(count), pairs.train.end());
  pairs.train.resize(pairs.train.size() - count);
  return pairs;
}

TextTokenizer::Kind kind_of(const std::string& name) {
  const std::vector<std::string> known{"character", "word_punctuation"};
  const auto place = std::find(known.begin(), known.end(), name);
  if (place == known.end()) fail_unknown(kOp, "tokens", name, known);
  return static_cast<TextTokenizer::Kind>(place - known.begin());
}

TextTokenizer tokenizer_of(const std::string& kind, const std::vector<TextPair>& pairs,
                           std::string TextPair::*side, int64_t min_count) {
  std::vector<std::string> texts;
  texts.reserve(pairs.size());
  for (const TextPair& pair : pairs) texts.push_back(pair.*side);
  return TextTokenizer::from_texts(kind_of(kind), texts, min_count);
}

// One run: what train_translation() holds while it works.
class TranslationRun {
 public:
  TranslationRun(const TranslationRecipe& recipe, fs::path out,
                 const std::function<void(const TrainingMoment&)>& watch, const Tell& tell)
      : recipe_(recipe),
        out_(std::move(out)),
        tell_(tell),
        pairs_(read_pairs(recipe_, tell_)),
        text_(make_text()),
        loop_(loop_options(recipe_, out_, "val_exact"), watch),
        order_(recipe_.seed) {}

  TranslationTraining run() {
    train_ = encode(pairs_.train);
    val_ = encode(pairs_.val);
    const auto count = static_cast<int64_t>(train_.size());
    const size_t left_out = pairs_.train.size() + pairs_.val.size() - train_.size() - val_.size();
    if (left_out > 0)
      tell_(fmt::format("{} pairs of more than {} tokens a side were left out", left_out,
                        recipe_.max_tokens - 1));
    check_that(
        count >= recipe_.batch, kOp,
        fmt::format("at least batch = {} pairs to train on (a smaller --batch would do)", recipe_.batch),
        fmt::format("{} of at most {} tokens a side", count, recipe_.max_tokens - 1));
    check_that(!val_.empty(), kOp, "pairs to validate on (a larger --val-share, or --val-data)", "none");
    best_loss_ = loop_.kept().value("val_loss", kNoLoss);
    best_exact_ = loop_.kept().value("val_exact", 0.0);
    torch::optim::AdamW optimizer(text_.translator()->parameters(),
                                  torch::optim::AdamWOptions(recipe_.lr).weight_decay(recipe_.weight_decay));
    const int64_t steps = count / recipe_.batch;  // an epoch
    loop_.kept() = {{"val_loss", best_loss_}, {"val_exact", best_exact_}};
    loop_.run({"translate", 0, recipe_.epochs * steps, steps, {{"translator.", text_.translator().ptr()}}},
              optimizer,
              {[&] { text_.translator()->train(); },
               [&](int64_t step, Random&) {
                 std::vector<const EncodedPair*> batch;
                 for (const int64_t i : order_.batch_of(step, count, recipe_.batch, 0))
                   batch.push_back(&train_[static_cast<size_t>(i)]);
                 return loss_of(batch, recipe_.label_smoothing);
               },
               {},
               [&](TrainingMoment& moment) { validate(moment); }});
    return {out_ / "model.safetensors", best_loss_, best_exact_};
  }

 private:
  TextTranslator make_text() {
    torch::manual_seed(recipe_.seed);
    TextTokenizer source =
                      tokenizer_of(recipe_.source_tokens, pairs_.train, &TextPair::source, recipe_.min_count),
                  target =
                      tokenizer_of(recipe_.target_tokens, pairs_.train, &TextPair::target, recipe_.min_count);
    const nlohmann::json options{{"source_vocabulary", source.vocabulary().size()},
                                 {"target_vocabulary", target.vocabulary().size()},
                                 {"encoder", recipe_.encoder},
                                 {"decoder", recipe_.decoder},
                                 {"attention", recipe_.attention},
                                 {"score", recipe_.score},
                                 {"fusion", recipe_.fusion},
                                 {"embedding", recipe_.embedding},
                                 {"width", recipe_.width},
                                 {"layers", recipe_.layers},
                                 {"heads", recipe_.heads},
                                 {"dropout", recipe_.dropout},
                                 {"max_tokens", recipe_.max_tokens}};
    Translator translator(translator_options_from_json(options));
    return {std::move(source), std::move(target), std::move(translator)};
  }

  std::vector<EncodedPair> encode(const std::vector<TextPair>& pairs) {
    std::vector<EncodedPair> encoded;
    const auto most = static_cast<size_t>(recipe_.max_tokens - 1);
    for (const TextPair& pair : pairs) {
      EncodedPair one{text_.source().encode(pair.source), text_.target().encode(pair.target)};
      if (one.source.empty() || one.target.empty() || one.source.size() > most || one.target.size() > most)
        continue;
      encoded.push_back(std::move(one));
    }
    return encoded;
  }

  // Mean cross-entropy of the batch's target tokens and ends, in nats.
  torch::Tensor loss_of(const std::vector<const EncodedPair*>& batch, double smoothing) {
    std::vector<std::vector<int64_t>> sources, inputs, targets;
    for (const EncodedPair* const pair : batch) {
      sources.push_back(pair->source);
      inputs.push_back(pair->target);
      inputs.back().insert(inputs.back().begin(), Vocabulary::kStart);
      targets.push_back(pair->target);
      targets.back().push_back(Vocabulary::kEnd);
    }
    Translator& translator = text_.translator();
    const Translated read = translator->forward(padded(inputs), translator->encode(padded(sources)));
    return torch::nn::functional::cross_entropy(read.logits.flatten(0, 1), padded(targets).flatten(),
                                                torch::nn::functional::CrossEntropyFuncOptions()
                                                    .ignore_index(Vocabulary::kPad)
                                                    .label_smoothing(smoothing));
  }

  // Loss and exact translations of the validation pairs; keeps the model if it is the best.
  void validate(TrainingMoment& moment) {
    const torch::NoGradGuard no_grad;
    text_.translator()->eval();
    double loss = 0, tokens = 0, exact = 0;
    SearchOptions greedy;
    greedy.beam = 1;
    greedy.max_words = recipe_.max_tokens - 1;
    for (size_t first = 0; first < val_.size(); first += static_cast<size_t>(recipe_.batch)) {
      const size_t last = std::min(val_.size(), first + static_cast<size_t>(recipe_.batch));
      std::vector<const EncodedPair*> batch;
      std::vector<std::vector<int64_t>> sources;
      double count = 0;
      for (size_t i = first; i < last; ++i) {
        batch.push_back(&val_[i]);
        sources.push_back(val_[i].source);
        count += static_cast<double>(val_[i].target.size() + 1);
      }
      loss += loss_of(batch, 0).item<double>() * count;
      tokens += count;
      TranslationSteps steps(text_.translator(), text_.translator()->encode(padded(sources)), 1);
      const auto found = search(steps, greedy);
      for (size_t i = first; i < last; ++i) {
        std::vector<int64_t> said = found[i - first].front().tokens;
        if (!said.empty() && said.back() == Vocabulary::kEnd) said.pop_back();
        exact += said == val_[i].target ? 1 : 0;
      }
    }
    moment.val_loss = loss / tokens;
    moment.val_score = exact / static_cast<double>(val_.size());
    if (moment.val_score < best_exact_ || (moment.val_score == best_exact_ && moment.val_loss >= best_loss_))
      return;
    best_loss_ = moment.val_loss;
    best_exact_ = moment.val_score;
    loop_.kept() = {{"val_loss", best_loss_}, {"val_exact", best_exact_}};
    nlohmann::json provenance{{"recipe", to_json(recipe_)},
                              {"seed", recipe_.seed},
                              {"data", recipe_.data.filename().string()},
                              {"scores", {{"val_loss", best_loss_}, {"val_exact", best_exact_}}}};
    if (!recipe_.licence.empty()) provenance["licence"] = recipe_.licence;
    write_model_file(out_ / "model.safetensors", text_.to_model_file(provenance));
  }

  TranslationRecipe recipe_;
  fs::path out_;
  const Tell& tell_;
  Pairs pairs_;
  TextTranslator text_;
  TrainingLoop loop_;
  EpochOrder order_;
  std::vector<EncodedPair> train_, val_;
  double best_loss_ = kNoLoss, best_exact_ = 0;
};

}  // namespace

TranslationTraining train_translation(const TranslationRecipe& recipe, const fs::path& out,
                                      const std::function<void(const TrainingMoment&)>& watch,
                                      const std::function<void(const std::string&)>& tell) {
  return TranslationRun(recipe, out, watch, tell).run();
}

}  // namespace gaze::models
