#include "modules/attention/registry.h"

#include <gtest/gtest.h>

#include "modules/core/error.h"
#include "tests/modules/attention/block_contract.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

std::string remade(const std::string& text, int64_t channels = 64) {
  return test::block_of(text, channels)->spec();
}

TEST(Registry, writes_specs_as_short_as_they_say_it_all) {
  EXPECT_EQ(block_names(),
            (std::vector<std::string>{"se", "cbam", "cam", "sam", "eca", "mha", "cross", "nl"}));
  EXPECT_EQ(remade("se"), "se(reduction=16)");
  EXPECT_EQ(remade("se(hidden=4)"), "se(reduction=16)");
  EXPECT_EQ(remade("se(hidden=8, bias=false, init=identity)"),
            "se(reduction=16, hidden=8, bias=false, init=identity)");
  EXPECT_EQ(remade("se(divisor=8)"), "se(reduction=16, divisor=8)");
  EXPECT_EQ(remade("se(hidden=8, divisor=8)"), "se(reduction=16, divisor=8)");
  EXPECT_EQ(remade("cbam"), "cbam(reduction=16, kernel=7)");
  EXPECT_EQ(remade("cbam(hidden=8, kernel=3, bias=false, norm=false, init=identity)"),
            "cbam(reduction=16, hidden=8, bias=false, kernel=3, norm=false, init=identity)");
  EXPECT_EQ(remade("cbam(order=mean_max, bias=false)"),
            "cbam(reduction=16, bias=false, kernel=7, order=mean_max)");
  EXPECT_EQ(remade("sam(order=max_mean)"), "sam(kernel=7)");
  EXPECT_EQ(remade("eca"), "eca(kernel=3)");
  EXPECT_EQ(remade("eca", 256), "eca(kernel=5)");
  EXPECT_EQ(remade("mha"), "mha(heads=8)");
  EXPECT_EQ(remade("mha(width=64)"), "mha(heads=8)");
  EXPECT_EQ(remade("nl"), "nl(reduction=2)");
  EXPECT_EQ(remade("nl(pool=true, scaled=true)"), "nl(reduction=2, scaled=true, pool=true)");
  EXPECT_EQ(remade("cross(width=32, memory=layer2)"), "cross(memory=layer2, heads=8, width=32)");
}

TEST(Registry, init_of_the_spec_wins) {
  const auto with = [](const char* text, Init init) { return test::block_of(text, 8, init)->spec(); };
  EXPECT_EQ(with("se", Init::identity), "se(reduction=16, init=identity)");
  EXPECT_EQ(with("se(init=paper)", Init::identity), "se(reduction=16)");
  EXPECT_EQ(with("se(init=identity)", Init::paper), "se(reduction=16, init=identity)");
}

TEST(Registry, errors_list_what_is_valid) {
  EXPECT_THROWS_WITH(
      remade("cbm"), ArgumentError,
      "[spec] unknown module \"cbm\"; did you mean \"cbam\"? known: se, cbam, cam, sam, eca, mha, cross, nl");
  EXPECT_THROWS_WITH(remade("transformer"), ArgumentError,
                     "[spec] unknown module \"transformer\"; known: se, cbam, cam, sam, eca, mha, cross, nl");
  EXPECT_THROWS_WITH(remade("se(reductoin=8)"), ArgumentError,
                     "[se] unknown option \"reductoin\"; did you mean \"reduction\"? known: reduction, "
                     "divisor, hidden, bias, init");
  EXPECT_THROWS_WITH(
      remade("cbam(size=8)"), ArgumentError,
      "[cbam] unknown option \"size\"; known: reduction, divisor, hidden, bias, kernel, norm, order, init");
  EXPECT_THROWS_WITH(remade("se(reduction=many)"), ArgumentError,
                     "[se] expected reduction=an integer; got reduction=many");
  EXPECT_THROWS_WITH(remade("se(reduction=8.5)"), ArgumentError,
                     "[se] expected reduction=an integer; got reduction=8.5");
  EXPECT_THROWS_WITH(remade("se(reduction=99999999999999999999)"), ArgumentError,
                     "[se] expected reduction=an integer; got reduction=99999999999999999999");
  EXPECT_THROWS_WITH(remade("se(bias=yes)"), ArgumentError, "[se] expected bias=true or false; got bias=yes");
  EXPECT_THROWS_WITH(remade("se(init=zero)"), ArgumentError,
                     "[se] expected init=paper or identity; got init=zero");
  EXPECT_THROWS_WITH(remade("sam(order=max)"), ArgumentError,
                     "[sam] expected order=max_mean or mean_max; got order=max");
}

TEST(Registry, values_that_do_not_fit_are_named) {
  EXPECT_THROWS_WITH(remade("se(reduction=0)"), ArgumentError,
                     "[se] expected reduction >= 1; got reduction 0");
  EXPECT_THROWS_WITH(remade("cam(divisor=-8)"), ArgumentError,
                     "[cam] expected divisor >= 1, or 0 to round down; got divisor -8");
  EXPECT_THROWS_WITH(remade("se(hidden=-1)"), ArgumentError,
                     "[se] expected hidden >= 1, or 0 for channels / reduction; got hidden -1");
  EXPECT_THROWS_WITH(remade("cbam(kernel=4)"), ArgumentError,
                     "[cbam] expected kernel odd, >= 1; got kernel 4");
  EXPECT_THROWS_WITH(remade("sam(kernel=-1)"), ArgumentError,
                     "[sam] expected kernel odd, >= 1; got kernel -1");
  EXPECT_THROWS_WITH(remade("eca(kernel=2)"), ArgumentError,
                     "[eca] expected kernel odd, or 0 for one from the channels; got kernel 2");
  EXPECT_THROWS_WITH(remade("mha(heads=5)"), ArgumentError,
                     "[mha] expected heads that divide width 64; got heads 5");
  EXPECT_THROWS_WITH(remade("mha(heads=0)"), ArgumentError, "[mha] expected heads >= 1; got heads 0");
  EXPECT_THROWS_WITH(remade("mha(width=-8)"), ArgumentError, "[mha] expected width >= 1; got width -8");
  EXPECT_THROWS_WITH(remade("mha", 12), ArgumentError,
                     "[mha] expected heads that divide width 12; got heads 8");
  EXPECT_THROWS_WITH(remade("nl(reduction=0)"), ArgumentError,
                     "[nl] expected reduction >= 1; got reduction 0");
  EXPECT_THROWS_WITH(remade("cross(memory=layer2, width=30)"), ArgumentError,
                     "[cross] expected heads that divide width 30; got heads 8");
}

// 256 channels, 14 x 14 = 196 cells; the memory of cross is layer2 of ResNet-18: 128 channels, 784 cells.
TEST(Registry, describes_what_a_block_costs) {
  struct Row {
    const char* name;
    int64_t parameters, macs;
  };
  const std::vector<Row> expected = {
      {"se", 2 * 256 * 16 + 16 + 256, 2 * 256 * 16 + 256 * 196},
      // The spatial part: 2·49 weights, scale and shift; the layers see the mean and the maximum.
      {"cbam", 2 * 256 * 16 + 16 + 256 + 98 + 2, 4 * 256 * 16 + 98 * 196 + 2 * 256 * 196},
      {"cam", 2 * 256 * 16 + 16 + 256, 4 * 256 * 16 + 256 * 196},
      {"sam", 98 + 2, 98 * 196 + 256 * 196},
      {"eca", 5, 5 * 256 + 256 * 196},
      {"mha", 4 * (256 * 256 + 256), 4 * 196 * 256 * 256 + 2 * 196 * 196 * 256},
      {"cross", 2 * (256 * 256 + 256) + 2 * (128 * 256 + 256),
       2 * 196 * 256 * 256 + 2 * 784 * 128 * 256 + 2 * 196 * 784 * 256},
      {"nl", 3 * (256 * 128 + 128) + (128 * 256 + 256) + 2 * 256, 4 * 196 * 256 * 128 + 2 * 196 * 196 * 128},
  };
  const std::vector<BlockDescription> described = describe_blocks();
  ASSERT_EQ(described.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(described[i].card.name, std::string(expected[i].name));
    EXPECT_EQ(described[i].parameters, expected[i].parameters) << expected[i].name;
    EXPECT_EQ(described[i].macs, expected[i].macs) << expected[i].name;
  }
}

}  // namespace
}  // namespace gaze
