#include "models/decoder/sentencepiece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ids = std::vector<int64_t>;
using Texts = std::vector<std::string>;

const std::string kFolder = GAZE_SOURCE_DIR "/tests/golden/decoder/";

nlohmann::json golden() {
  std::ifstream file(kFolder + "sentencepiece.json");
  return nlohmann::json::parse(file);
}

// A message of sentencepiece_model.proto: ModelProto{pieces = 1}, SentencePiece{piece = 1, score = 2, type =
// 3}; all lengths are below 128.
std::string field(int number, const std::string& bytes) {
  return {static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())};
}
constexpr char kNormal = 1, kUnknown = 2, kControl = 3;
std::string piece(const std::string& text, float score, char type = kNormal) {
  std::string number(sizeof(score), '\0');
  std::memcpy(number.data(), &score, sizeof(score));
  const std::string message =
      field(1, text) + text + static_cast<char>(2 << 3 | 5) + number + static_cast<char>(3 << 3) + type;
  return field(1, message) + message;
}
const std::string kUnk = piece("<unk>", 0, kUnknown), kPad = piece("<pad>", 0, kControl);
const std::string kStart = piece("<s>", 0, kControl), kEnd = piece("</s>", 0, kControl);
const std::string kWords = piece("▁red", -1) + piece("▁", -2) + piece("s", -2) + piece("red", -1);

TEST(SentencePiece, has_the_ids_of_the_python_package) {
  const SentencePiece tokenizer = SentencePiece::from_file(kFolder + "sentencepiece.model");
  const nlohmann::json data = golden();
  EXPECT_EQ(tokenizer.size(), data["size"]);
  const SpecialTokens specials = tokenizer.specials();
  EXPECT_EQ((Ids{specials.pad, specials.start, specials.end, specials.unknown}), data["specials"].get<Ids>());
  ASSERT_EQ(data["lines"].size(), 200U);
  for (const auto& line : data["lines"])
    EXPECT_EQ(tokenizer.encode(line[0]), line[1].get<Ids>()) << line[0].dump(-1, ' ', true);
  for (const auto& pair : data["decoded"])
    EXPECT_EQ(tokenizer.decode(pair[0].get<Ids>()), pair[1]) << pair[0].dump();
}

TEST(SentencePiece, finds_what_a_model_has_of_special_pieces) {
  const auto specials = [](const std::string& model) {
    const SpecialTokens found = SentencePiece(model).specials();
    return Ids{found.pad, found.start, found.end, found.unknown};
  };
  EXPECT_EQ(specials(kUnk + kStart + kEnd + kWords + kPad), (Ids{7, 1, 2, 0}));
  EXPECT_EQ(specials(kUnk + kStart + kEnd + kWords), (Ids{2, 1, 2, 0}));
  EXPECT_EQ(specials(kPad + kEnd + kUnk + kWords), (Ids{0, 0, 1, 2})) << "as T5";
  EXPECT_EQ(specials(kUnk + kEnd + kWords), (Ids{1, 1, 1, 0}));
}

//  0 <unk>, 1 <s>, 2 </s>, 3 ▁red, 4 ▁, 5 s, 6 red
TEST(SentencePiece, encodes_decodes_and_tells_words_apart) {
  const SentencePiece tokenizer(kUnk + kStart + kEnd + kWords);
  EXPECT_EQ(tokenizer.encode("reds  red x"), (Ids{3, 5, 3, 4, 0}));
  EXPECT_THAT(tokenizer.encode(""), IsEmpty());
  EXPECT_EQ(tokenizer.decode({1, 3, 5, 3, 0, 2}), "reds red");
  EXPECT_EQ(tokenizer.decode({}), "");
  const auto spans = [&](const Ids& ids) {
    Texts result;
    for (const TokenSpan& span : tokenizer.words(ids))
      result.push_back(span.text + " " + std::to_string(span.first) + " " + std::to_string(span.last));
    return result;
  };
  EXPECT_THAT(spans({1, 3, 5, 4, 6, 5, 3, 2}), ElementsAre("reds 1 3", "reds 3 6", "red 6 7"));
  EXPECT_THAT(spans({6, 0, 5}), ElementsAre("red 0 1", "s 2 3")) << "special pieces belong to no word";
  EXPECT_THAT(spans({4, 3, 4}), ElementsAre("red 1 2")) << "a space alone is no word";
  EXPECT_THROWS_WITH(tokenizer.words({7}), ArgumentError, "[sentencepiece] expected id in 0..6; got id 7");
  EXPECT_THROWS_WITH(tokenizer.decode({-1}), ArgumentError, "[sentencepiece] expected id in 0..6; got id -1");
}

TEST(SentencePiece, a_phrase_is_one_way_where_texts_start_with_a_space) {
  EXPECT_EQ(SentencePiece(kUnk + kStart + kEnd + kWords).phrases("reds"), (std::vector<Ids>{{3, 5}}));
  // NormalizerSpec{add_dummy_prefix = 3, remove_extra_whitespaces = 4} is field 3
  const std::string as_it_is = {3 << 3, 0, 4 << 3, 0};
  EXPECT_EQ(SentencePiece(kUnk + kStart + kEnd + kWords + field(3, as_it_is) + as_it_is).phrases("reds"),
            (std::vector<Ids>{{3, 5}, {6, 5}}));
}

TEST(SentencePiece, survives_json) {
  const SentencePiece tokenizer = SentencePiece::from_file(kFolder + "sentencepiece.model");
  EXPECT_EQ(tokenizer.to_json()["kind"], "sentencepiece");
  const auto again = tokenizer_from_json(nlohmann::json::parse(tokenizer.to_json().dump()));
  EXPECT_EQ(again->to_json(), tokenizer.to_json());
  EXPECT_EQ(again->encode("a red panda"), tokenizer.encode("a red panda"));
}

TEST(SentencePiece, says_what_is_wrong_with_its_json) {
  const auto read = [](const char* text) { return SentencePiece::from_json(nlohmann::json::parse(text)); };
  EXPECT_THROWS_WITH(read("{}"), ArgumentError, "[sentencepiece] expected a text \"data\"; got none");
  EXPECT_THROWS_WITH(read(R"({"data": []})"), ArgumentError,
                     "[sentencepiece] expected a text \"data\"; got array");
  EXPECT_THROWS_WITH(read(R"({"data": "a b"})"), ArgumentError,
                     "[sentencepiece] expected base64 in \"data\"; got another text");
}

// The library's own words stand behind "got".
std::string error_of(const std::string& model) {
  try {
    SentencePiece{model};
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "none";
}

TEST(SentencePiece, refuses_what_is_no_model) {
  const std::string start = "[sentencepiece] expected a SentencePiece model; got ";
  std::ifstream file(kFolder + "sentencepiece.model", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  const Texts no_models = {"",
                           "not a model",
                           kStart + kEnd,
                           kUnk + kEnd + kEnd,
                           kUnk + kEnd + piece("", -1),
                           whole.substr(0, whole.size() / 2)};
  for (const std::string& bad : no_models) EXPECT_EQ(error_of(bad).substr(0, start.size()), start);
  EXPECT_EQ(error_of(kUnk + kWords),
            "[sentencepiece] expected a model with an end-of-sentence piece; got one made with --eos_id=-1");
}

TEST(SentencePiece, says_what_is_wrong_with_its_file) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "a.model").string();
  const std::string next_step = "; give the .model file that spm_train wrote";
  std::ofstream(path) << "";
  EXPECT_THROWS_WITH(SentencePiece::from_file(path), FileError, path + ": is empty" + next_step);
  std::ofstream(path) << kUnk << kWords;
  EXPECT_THROWS_WITH(SentencePiece::from_file(path), FileError,
                     path + ": " + error_of(kUnk + kWords) + next_step);
}

}  // namespace
}  // namespace gaze::models
