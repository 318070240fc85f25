#include "models/decoder/tokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/decoder/vocabulary.h"
#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

TEST(Tokenizer, is_of_the_kind_its_json_says) {
  const auto tokenizer = tokenizer_from_json(Vocabulary::from_captions({"a dog"}).to_json());
  EXPECT_EQ(tokenizer->encode("dog"), (std::vector<int64_t>{5}));
  EXPECT_EQ(tokenizer->phrases("a dog"), (std::vector<std::vector<int64_t>>{{4, 5}}));
  EXPECT_EQ(tokenizer->to_json()["kind"], "word");
}

TEST(Tokenizer, names_the_kinds_there_are) {
  const auto read = [](const char* text) { tokenizer_from_json(nlohmann::json::parse(text)); };
  EXPECT_THROWS_WITH(read("[]"), ArgumentError,
                     "[tokenizer] expected an object with a text \"kind\"; got array");
  for (const char* text : {"{}", R"({"kind": 7})"}) {
    EXPECT_THROWS_WITH(read(text), ArgumentError,
                       "[tokenizer] expected an object with a text \"kind\"; got one without");
  }
  EXPECT_THROWS_WITH(read(R"({"kind": "wordpeace"})"), ArgumentError,
                     "[tokenizer] unknown kind \"wordpeace\"; did you mean \"wordpiece\"? known: byte_bpe, "
                     "sentencepiece, word, word_map, wordpiece");
}

TEST(Tokenizer, special_tokens_are_known_by_their_ids) {
  const SpecialTokens specials{4, 7, 7, 9};
  for (const int64_t id : {4, 7, 9}) EXPECT_TRUE(specials.has(id)) << id;
  for (const int64_t id : {0, 1, 2, 3, -1}) EXPECT_FALSE(specials.has(id)) << id;
}

}  // namespace
}  // namespace gaze::models
