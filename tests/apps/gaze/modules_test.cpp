// gaze modules as a person runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "modules/attention/registry.h"
#include "tests/support/run_program.h"

namespace gaze {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(ModulesProgram, ReadmeHoldsItsTables) {
  const test::ProgramResult result = test::run_program({GAZE_PROGRAM, "modules"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  for (const std::string& name : block_names()) EXPECT_THAT(result.out, HasSubstr("| `" + name));
  std::ifstream file(GAZE_SOURCE_DIR "/README.md");
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(readme.find(result.out), std::string::npos) << "README.md should hold:\n" << result.out;
}

TEST(ModulesProgram, AnObjectALineAsJson) {
  const test::ProgramResult result = test::run_program({GAZE_PROGRAM, "modules", "--json"});
  EXPECT_EQ(result.status, 0) << result.err;
  std::vector<std::string> names;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    const json block = json::parse(line);
    names.push_back(block["name"]);
    EXPECT_EQ(block["at"], json({256, 14, 14}));
    if (names.back() == "eca") {
      EXPECT_EQ(block["spec"], "eca");
      EXPECT_EQ(block["paper"], "Wang et al. 2020");
      EXPECT_EQ(block["parameters"], 5);
      EXPECT_EQ(block["macs"], 5 * 256 + 256 * 196);
      EXPECT_EQ(block["identity"], "mix");
      EXPECT_EQ(block["maps"], "channel [B, C]");
      EXPECT_EQ(block["options"][0]["name"], "kernel");
      EXPECT_EQ(block["options"][0]["usual"], "0");
      EXPECT_EQ(block["options"][1]["name"], "init");
    }
    if (names.back() == "cross") {
      EXPECT_EQ(block["spec"], "cross(memory=layer2)");
      EXPECT_EQ(block["options"][0]["usual"], nullptr);
    }
  }
  EXPECT_EQ(names, block_names());
}

TEST(ModulesProgram, HelpOpensWithAnExample) {
  const test::ProgramResult result = test::run_program({GAZE_PROGRAM, "modules", "--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("Example:\n  gaze modules\n"));
  EXPECT_EQ(test::run_program({GAZE_PROGRAM, "modules", "--csv"}).status, 2);
}

}  // namespace
}  // namespace gaze
