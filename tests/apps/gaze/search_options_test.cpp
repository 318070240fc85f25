// The flags of a search, as a person gives them, on a small model with random weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "models/image/image.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_captioner.h"

namespace gaze {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class SearchFlags : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    models::write_model_file(shared().path() / "model.safetensors", test::tiny_caption_model());
    models::Image image{64, 48, std::vector<uint8_t>(64 * 48 * 3), 1};
    for (size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = static_cast<uint8_t>(i * 7 % 251);
    models::save_image(image, (shared().path() / "a.png").string());
  }

  static const test::TemporaryFolder& shared() {
    static const test::TemporaryFolder folder;
    return folder;
  }

  test::ProgramResult run(std::vector<std::string> flags) const {
    flags.insert(flags.begin(),
                 {GAZE_PROGRAM, "overlay", (shared().path() / "a.png").string(), "--json", "--model",
                  (shared().path() / "model.safetensors").string(), "--out", folder_.path().string()});
    return test::run_program(flags);
  }

  json found(const std::vector<std::string>& flags) const {
    const test::ProgramResult result = run(flags);
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out);
  }

  std::string caption(const std::vector<std::string>& flags) const { return found(flags)["caption"]; }

  json options(const std::vector<std::string>& flags) const {
    const std::filesystem::path folder = found(flags)["folder"].get<std::string>();
    return json::parse(std::ifstream(folder / "manifest.json"))["options"];
  }

  void expect_usage_error(const std::vector<std::string>& flags, const std::string& text) const {
    const test::ProgramResult result = run(flags);
    EXPECT_EQ(result.status, 2) << text;
    EXPECT_EQ(result.err, "gaze: " + text + "\n");
    EXPECT_EQ(result.out, "");
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(SearchFlags, words_are_banned_forced_and_given) {
  const std::string free = caption({"--min-words", "2"});
  const std::string word = free.substr(0, free.find(' '));
  EXPECT_THAT(caption({"--min-words", "2", "--ban", word}), Not(HasSubstr(word)));
  EXPECT_THAT(caption({"--force", "Sand"}), HasSubstr("sand"));
  const std::string both = caption({"--force", "red ball", "--force", "green", "--max-words", "5"});
  EXPECT_THAT(both, HasSubstr("red ball"));
  EXPECT_THAT(both, HasSubstr("green"));
  EXPECT_THAT(caption({"--prefix", "on green", "--min-words", "3"}), StartsWith("on green "));
  EXPECT_EQ(caption({"--force", "sand", "--max-words", "1"}), "sand");
}

TEST_F(SearchFlags, lengths_repetition_and_norms_are_handed_on) {
  std::istringstream words(caption({"--min-words", "6", "--no-repeat-ngram", "1"}));
  std::set<std::string> distinct;
  for (std::string word; words >> word;) distinct.insert(word);
  EXPECT_EQ(distinct.size(), 6U);
  const json told =
      options({"--length-norm", "average", "--stopping", "full", "--beam", "4", "--groups", "2",
               "--diversity", "0.3", "--repetition-penalty", "1.2", "--ban", "a", "--ban", "on green"});
  EXPECT_EQ(told["length_norm"], "average");
  EXPECT_EQ(told["stopping"], "full");
  EXPECT_EQ(told["beam"], 4);
  EXPECT_EQ(told["groups"], 2);
  EXPECT_EQ(told["diversity"], 0.3);
  EXPECT_EQ(told["repetition_penalty"], 1.2);
  EXPECT_EQ(told["ban"], json::parse(R"(["a", "on green"])"));
}

TEST_F(SearchFlags, samples_come_with_their_seed) {
  const std::vector<std::string> flags = {"--sample", "1", "--temperature", "3", "--min-words", "4"};
  const auto seeded = [&](const std::string& seed) {
    std::vector<std::string> all = flags;
    all.insert(all.end(), {"--seed", seed});
    return caption(all);
  };
  const std::string first = seeded("1");
  EXPECT_EQ(seeded("1"), first);
  EXPECT_TRUE(seeded("2") != first || seeded("3") != first);
  EXPECT_EQ(options(flags)["sample"], 1);
}

TEST_F(SearchFlags, a_given_text_is_scored) {
  const json searched = found({});
  const json scored = found({"--text", searched["caption"]});
  EXPECT_EQ(scored["caption"], searched["caption"]);
  EXPECT_NEAR(scored["log_probability"].get<double>(), searched["log_probability"].get<double>(), 1e-5);
  EXPECT_EQ(found({"--text", "sand sand"})["caption"], "sand sand");
  EXPECT_LT(found({"--text", "sand sand"})["log_probability"], searched["log_probability"]);
}

TEST_F(SearchFlags, those_that_exclude_each_other_are_told) {
  expect_usage_error({"--force", "Ball", "--ban", "ball"},
                     "--force \"Ball\" and --ban \"Ball\" exclude each other");
  expect_usage_error({"--force", "red ball", "--ban", "ball"},
                     "--force \"red ball\" and --ban \"ball\" exclude each other");
  expect_usage_error({"--prefix", "a red", "--ban", "red"},
                     "--prefix \"a red\" and --ban \"red\" exclude each other");
  expect_usage_error({"--min-words", "5", "--max-words", "4"},
                     "--min-words 5: expected at most --max-words 4");
  expect_usage_error({"--groups", "2"}, "--groups 2: expected groups that share --beam 3 equally");
  expect_usage_error({"--length-norm", "average", "--length-penalty", "1"},
                     "--length-norm average has no --length-penalty");
  expect_usage_error({"--force", "red ball", "--force", "sand", "--max-words", "2"},
                     "[search] expected forced phrases that fit max_words 2; got ones that need 3");
  expect_usage_error({"--min-words", "20"},
                     "[search] expected min_words in 0..max_words (8); got min_words 20");
}

TEST_F(SearchFlags, words_that_the_model_does_not_know_are_told) {
  expect_usage_error({"--force", "red zebra"}, "--force \"red zebra\": the model does not know \"zebra\"");
  expect_usage_error({"--prefix", "zebra"}, "--prefix \"zebra\": the model does not know \"zebra\"");
  expect_usage_error({"--force", " "}, "--force: expected a word or more");
  const test::ProgramResult banned = run({"--ban", "zebra"});
  EXPECT_EQ(banned.status, 0);
  EXPECT_EQ(banned.err, "gaze: --ban \"zebra\": the model never says \"zebra\"\n");
  const test::ProgramResult given = run({"--text", "red zebra"});
  EXPECT_EQ(given.status, 0);
  EXPECT_EQ(given.err, "gaze: --text: the model does not know \"zebra\"; it is scored as an unknown word\n");
  expect_usage_error({"--text", "a a a a a a a a a"},
                     "--text: expected at most the 8 tokens that the model can say, got 9");
}

TEST_F(SearchFlags, those_that_need_or_exclude_others_say_so) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--beam", "0"}, "--beam: Value 0 not in range 1 to 100"},
      {{"--sample", "3", "--groups", "3"}, "--groups excludes --sample"},
      {{"--sample", "3", "--beam", "3"}, "--beam excludes --sample"},
      {{"--top-k", "3"}, "--top-k requires --sample"},
      {{"--top-p", "0.9"}, "--top-p requires --sample"},
      {{"--temperature", "2"}, "--temperature requires --sample"},
      {{"--diversity", "1"}, "--diversity requires --groups"},
      {{"--text", "a red ball", "--beam", "3"}, "--beam excludes --text"},
      {{"--text", "a red ball", "--ban", "sand"}, "--ban excludes --text"},
      {{"--stopping", "soon"}, "--stopping: "},
  };
  for (const auto& [flags, text] : cases) {
    const test::ProgramResult result = run(flags);
    EXPECT_EQ(result.status, 2) << text;
    EXPECT_THAT(result.err, StartsWith(text));
    EXPECT_EQ(result.out, "");
  }
}

}  // namespace
}  // namespace gaze
