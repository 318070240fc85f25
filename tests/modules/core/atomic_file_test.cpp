#include "modules/core/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

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

TEST(AtomicFile, a_bare_name_is_in_the_working_folder) {
  const test::TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_NO_THROW(write_atomically("b.txt", "hello"));
  EXPECT_TRUE(std::filesystem::exists("b.txt"));
  std::filesystem::current_path(before);
}

TEST(AtomicFile, follows_links_and_keeps_the_mode) {
  namespace fs = std::filesystem;
  const test::TemporaryFolder folder;
  write_atomically(folder.path() / "file", "old");
  fs::permissions(folder.path() / "file", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("file", folder.path() / "link");
  write_atomically(folder.path() / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
  std::ifstream stream(folder.path() / "file");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "new");
  EXPECT_EQ(fs::status(folder.path() / "file").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(AtomicFile, what_is_no_file_stays_what_it_is) {
  const test::TemporaryFolder folder;
  const std::filesystem::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  try {
    write_atomically(pipe, "x");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const FileError& error) {
    EXPECT_EQ(std::string(error.what()),
              pipe.string() + ": is there already and is no file; give another name");
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_THROW(write_atomically(folder.path(), "x"), FileError);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

}  // namespace
}  // namespace gaze
