// How memory grows with the length, and who computes the same as all pairs. Times are printed, not judged.
#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

TEST(Quadratic, memory_of_all_pairs_grows_with_the_square_and_others_do_not) {
  const std::string out = test::printed_by("quadratic");
  constexpr double kMegabyte = 1 << 20, kRounding = 0.06;
  std::vector<double> shorter;
  for (const double n : {1024, 2048, 4096, 8192, 16384, 32768}) {
    std::vector<double> row = test::numbers_of(out, std::to_string(static_cast<int>(n)));
    const bool written = n <= 4096, tiles = n <= 8192;
    ASSERT_EQ(row.size(), 6 + 2 * size_t{written} + 2 * size_t{tiles}) << n;  // "-" for those too long
    EXPECT_EQ(row[0], n * n);
    EXPECT_EQ(row[1], n * n * 4 / kMegabyte);
    const double output = n * 64 * 4 / kMegabyte;
    if (written) EXPECT_NEAR(row[3], 2 * row[1] + output, output + kRounding) << "scores and weights";
    if (written) row.erase(row.begin() + 2, row.begin() + 4);
    // Tiles, where there are any, windows, linear: at most a few times the output. Twice the words, at most
    // twice the memory.
    for (size_t megabytes = 3; megabytes < row.size(); megabytes += 2) {
      EXPECT_GE(row[megabytes], output - kRounding) << n;
      EXPECT_LE(row[megabytes], 8 * output) << n;
      const size_t from_end = row.size() - megabytes;
      if (shorter.size() >= from_end)
        EXPECT_LE(row[megabytes], 2.1 * shorter[shorter.size() - from_end] + kRounding) << n;
    }
    shorter = row;
  }
  const auto far = [&](const std::string& way) {
    const std::vector<double> numbers = test::numbers_of(out.substr(out.find("Farthest")), way);
    return numbers.empty() ? NAN : numbers[0];
  };
  EXPECT_LT(far("as written"), 1e-5);
  EXPECT_LT(far("tiles"), 1e-5);
  EXPECT_GT(far("window"), 0.01);
  EXPECT_GT(far("linear"), 0.01);
}

}  // namespace
}  // namespace gaze
