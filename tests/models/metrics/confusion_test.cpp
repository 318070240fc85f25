#include "models/metrics/confusion.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace gaze::models {
namespace {

TEST(Confusion, counts_truth_by_row_and_what_was_said_by_column) {
  Confusion confusion({"ant", "a \"b\", c"});
  EXPECT_EQ(confusion.accuracy(), 0);
  for (int i = 0; i < 3; ++i) confusion.add(0, 0);
  confusion.add(0, 1);
  confusion.add(1, 1);
  EXPECT_DOUBLE_EQ(confusion.accuracy(), 0.8);
  EXPECT_EQ(confusion.csv(), "truth \\ said,ant,\"a \"\"b\"\", c\"\nant,3,1\n\"a \"\"b\"\", c\",0,1\n");
  EXPECT_EQ(confusion.text(),
            "truth \\ said    ant  a \"b\", c\n"
            "ant               3         1\n"
            "a \"b\", c          0         1\n");
  EXPECT_THROW(confusion.add(2, 0), std::out_of_range);
}

TEST(Confusion, of_many_classes_names_the_worst_pairs) {
  std::vector<std::string> names;
  for (int k = 0; k < 13; ++k) names.push_back("c" + std::to_string(k));
  Confusion confusion(names);
  confusion.add(1, 1);
  EXPECT_EQ(confusion.text(), "nothing was confused\n");
  confusion.add(3, 4);
  for (int i = 0; i < 12; ++i) confusion.add(5, 6);
  EXPECT_EQ(confusion.text(), "    12  c5 taken for c6\n     1  c3 taken for c4\n");
}

}  // namespace
}  // namespace gaze::models
