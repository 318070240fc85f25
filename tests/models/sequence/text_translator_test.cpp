#include "models/sequence/text_translator.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "modules/core/error.h"
#include "tests/support/near.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

TextTranslator make(bool attention = true) {
  torch::manual_seed(5);
  TextTokenizer source =
                    TextTokenizer::from_texts(TextTokenizer::Kind::word_punctuation, {"I love big cats ."}),
                target = TextTokenizer::from_texts(TextTokenizer::Kind::character, {"我喜欢猫"});
  TranslatorOptions options;
  options.source_vocabulary = source.vocabulary().size();
  options.target_vocabulary = target.vocabulary().size();
  options.attention = attention;
  options.embedding = options.width = 8;
  options.max_tokens = 6;
  return {std::move(source), std::move(target), Translator(options)};
}

SearchOptions beam(int64_t width) {
  SearchOptions options;
  options.beam = width;
  options.max_words = 1000;
  return options;
}

TEST(TextTranslator, says_what_each_token_looked_at) {
  TextTranslator text = make();
  for (const int64_t width : {1, 3}) {
    const std::vector<Translation> got =
        text.translate({"I love cats", "", "big unseen cats ."}, beam(width));
    ASSERT_EQ(got.size(), 3U);
    EXPECT_EQ(got[1].text, "");
    EXPECT_TRUE(got[1].finished);
    EXPECT_TRUE(got[1].tokens.empty());
    EXPECT_EQ(got[2].source.size(), 4U);
    EXPECT_EQ(got[2].source[1].text, "unseen");
    for (const size_t i : {0U, 2U}) {
      double sum = 0;
      std::string joined;
      for (const TranslatedToken& token : got[i].tokens) {
        EXPECT_EQ(token.weights.sizes(), (std::vector<int64_t>{i == 0 ? 3 : 4}));
        EXPECT_NEAR(token.weights.sum().item<double>(), 1, 1e-6);
        sum += token.log_probability;
        joined += token.text;
      }
      EXPECT_EQ(got[i].text, joined);
      if (got[i].finished)
        EXPECT_LT(got[i].log_probability, sum);  // and the end token's
      else
        EXPECT_NEAR(got[i].log_probability, sum, 1e-5);
      EXPECT_LE(got[i].tokens.size(), 5U);
    }
  }
  EXPECT_TRUE(text.translate({}, beam(2)).empty());
  const Translation bare = make(false).translate({"cats"}, beam(1))[0];
  for (const TranslatedToken& token : bare.tokens)
    EXPECT_FALSE(token.weights.defined());
}

TEST(TextTranslator, a_text_beside_others_is_translated_as_it_is_alone) {
  TextTranslator text = make();
  const std::vector<std::string> lines{"cats", "I love big cats .", "love love love"};
  const std::vector<Translation> together = text.translate(lines, beam(2));
  for (size_t i = 0; i < lines.size(); ++i) {
    const Translation alone = text.translate({lines[i]}, beam(2))[0];
    EXPECT_EQ(together[i].text, alone.text);
    EXPECT_NEAR(together[i].log_probability, alone.log_probability, 1e-5);
  }
}

TEST(TextTranslator, its_model_file_makes_it_again) {
  const test::TemporaryFolder folder;
  TextTranslator text = make();
  write_model_file(folder.path() / "model.safetensors", text.to_model_file({{"seed", 5}}));
  TextTranslator again = TextTranslator::load(folder.path() / "model.safetensors");
  const auto expected = text.translate({"I love cats"}, beam(3))[0],
             got = again.translate({"I love cats"}, beam(3))[0];
  EXPECT_EQ(got.text, expected.text);
  EXPECT_EQ(got.log_probability, expected.log_probability);
  const nlohmann::json line = to_json("I love cats", got);
  EXPECT_EQ(line["source_tokens"], (nlohmann::json{"i", "love", "cats"}));
  EXPECT_EQ(line["tokens"].size(), got.tokens.size());
}

TEST(TextTranslator, models_that_do_not_fit_are_refused) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "model.safetensors").string();
  const auto refused = [&](const ModelFile& model, const std::string& text) {
    write_model_file(path, model);
    EXPECT_THROWS_WITH(
        TextTranslator::load(path), FileError,
        path + ": this model cannot translate: " + text + "; give a model that `gaze train translate` wrote");
  };
  ModelFile model = make().to_model_file(nlohmann::json::object());
  model.description["translator"]["target_vocabulary"] = 99;
  EXPECT_THROW((TextTranslator(model)), ArgumentError);
  model = make().to_model_file(nlohmann::json::object());
  model.description["translator"]["width"] = 7;
  refused(model, "[translator] expected an even width; got width 7");
  model = make().to_model_file(nlohmann::json::object());
  model.description["task"] = "classify";
  model.description["backbone"] = {{"name", "resnet18"}};
  model.description["preprocessing"] = nlohmann::json::object();
  refused(model, "[translate] expected a model of the task \"translate\"; got task \"classify\"");
}

}  // namespace
}  // namespace gaze::models
