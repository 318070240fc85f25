#include "modules/core/atomic_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <string>

#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"

namespace gaze {
namespace {

TEST(AtomicFile, writes_and_creates_folders) {
  const test::TemporaryFolder folder;
  write_atomically(folder.path() / "a" / "b.txt", "hello");
  std::ifstream stream(folder.path() / "a" / "b.txt");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "hello");
}

TEST(AtomicFile, failure_keeps_the_old_file_and_leaves_nothing_else) {
  const test::TemporaryFolder folder;
  write_atomically(folder.path() / "b.txt", "old");
  EXPECT_THROW(write_atomically(folder.path() / "b.txt",
                                [](std::ostream& stream) {
                                  stream << "half";
                                  throw std::runtime_error("stopped");
                                }),
               std::runtime_error);
  std::ifstream stream(folder.path() / "b.txt");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(AtomicFile, a_folder_that_is_a_file_is_a_clear_error) {
  const test::TemporaryFolder folder;
  write_atomically(folder.path() / "file", "x");
  EXPECT_THROW(write_atomically(folder.path() / "file" / "b.txt", "y"), FileError);
}

}  // namespace
}  // namespace gaze
