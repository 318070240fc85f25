// gaze caption --out, run again: killed or torn files are gone on with, others' files are refused.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/support/caption_program.h"

namespace gaze {
namespace {

using test::ProgramResult;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
namespace fs = std::filesystem;

class CaptionResume : public test::CaptionProgramTest, public ::testing::WithParamInterface<const char*> {
 protected:
  // Arguments that make most of a format: with CSV a picture has several records.
  Words to(const std::string& out, const std::string& pictures, const std::string& batch) const {
    const std::string best = GetParam() == std::string(".csv") ? "2" : "1";
    return {pictures, "--out", path(out + GetParam()), "--best", best, "--batch", batch};
  }
  Words to_out(const std::string& pictures, const std::string& batch = "3") const {
    return to("out", pictures, batch);
  }
  std::string out() const { return path(std::string("out") + GetParam()); }

  // What an undisturbed run writes.
  std::string straight(const std::string& pictures, const std::string& batch = "3") const {
    const ProgramResult result = caption(to("straight", pictures, batch));
    EXPECT_THAT(result.status, ::testing::AnyOf(0, 3)) << result.err;
    return text(path(std::string("straight") + GetParam()));
  }

  // Leaves `content` in the file, as if the undisturbed run had been killed there.
  void leave(const std::string& content) const {
    add_file(std::string("out") + GetParam(), content);
    fs::copy_file(path("straight") + GetParam() + ".manifest.json", out() + ".manifest.json",
                  fs::copy_options::overwrite_existing);
  }
};

INSTANTIATE_TEST_SUITE_P(Formats, CaptionResume, ::testing::Values(".jsonl", ".csv"),
                         [](const auto& info) { return std::string(info.param + 1); });

TEST_P(CaptionResume, killed_and_gone_on_with_writes_the_same_bytes) {
  const std::string photos = add_folder("photos", 60);
  add_file("photos/07.jpg", "no picture");
  const std::string whole = straight(photos);
  ASSERT_THAT(whole, HasSubstr("59.png"));
  for (const int64_t lines : {1, 13, 31}) {
    test::Program program(command(to_out(photos)));
    while (line_count(out()) < lines && program.running())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(program.running()) << program.wait().err;
    program.kill();
    ASSERT_EQ(program.wait().status, 128 + SIGKILL);
    const std::string written = text(out());
    ASSERT_LT(written.size(), whole.size());
    EXPECT_EQ(written, whole.substr(0, written.size()));
  }
  const ProgramResult result = caption(to_out(photos));
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.err, HasSubstr("1 of 61 pictures failed:\n  " + path("photos/07.jpg") + "\n"));
  EXPECT_EQ(text(out()), whole);
}

TEST_P(CaptionResume, a_torn_end_is_written_again) {
  const std::string photos = add_folder("photos", 7);
  const std::string whole = straight(photos);
  const size_t last_line = whole.rfind('\n', whole.size() - 2) + 1;
  for (const size_t length : {size_t{5}, whole.size() / 2, last_line, whole.size() - 1}) {
    leave(whole.substr(0, length));
    const ProgramResult result = caption(to_out(photos));
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(text(out()), whole) << "cut to " << length << " of " << whole.size();
  }
}

TEST_P(CaptionResume, what_has_all_is_left_alone) {
  const std::string photos = add_folder("photos", 4);
  const std::string whole = straight(photos);
  ASSERT_EQ(caption(to_out(photos)).status, 0);
  const auto before = fs::last_write_time(out());
  const ProgramResult again = caption(to_out(photos));
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.err, HasSubstr("has 4 of 4 pictures"));
  EXPECT_EQ(text(out()), whole);
  EXPECT_EQ(fs::last_write_time(out()), before);
}

// In batches of one, as the last digits depend on what shares a batch.
TEST_P(CaptionResume, a_mended_picture_takes_the_place_of_its_error) {
  const std::string photos = add_folder("photos", 5), whole = straight(photos, "1");
  fs::rename(path("photos/02.png"), path("kept.png"));
  add_file("photos/02.png", "no picture");
  EXPECT_EQ(caption(to_out(photos, "1")).status, 3);
  EXPECT_NE(text(out()), whole);
  fs::rename(path("kept.png"), path("photos/02.png"));
  EXPECT_EQ(caption(to_out(photos, "1")).status, 0);
  EXPECT_EQ(text(out()), whole);
}

TEST_P(CaptionResume, new_pictures_are_added_at_the_end) {
  const std::string photos = add_folder("photos", 4);
  ASSERT_EQ(caption(to_out(photos)).status, 0);
  const std::string before = text(out());
  add_picture("photos/015.png", 9);
  const ProgramResult result = caption(to_out(photos));
  EXPECT_EQ(result.status, 0);
  const std::string after = text(out());
  ASSERT_THAT(after, StartsWith(before));
  EXPECT_THAT(after.substr(before.size()), HasSubstr("015.png"));
  EXPECT_THAT(after.substr(before.size()), Not(HasSubstr("02.png")));
}

TEST_P(CaptionResume, overwrite_begins_anew) {
  const std::string photos = add_folder("photos", 3);
  const std::string whole = straight(photos);
  add_file("out" + std::string(GetParam()), "other notes\n");
  Words arguments = to_out(photos);
  arguments.emplace_back("--overwrite");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(caption(arguments).status, 0);
    EXPECT_EQ(text(out()), whole);
  }
}

// Of another search, also one that gives a picture more captions; of another model.
TEST_P(CaptionResume, captions_made_otherwise_are_refused_and_kept) {
  const std::string photos = add_folder("photos", 3);
  ASSERT_EQ(caption({photos, "--out", out()}).status, 0);
  const std::string before = text(out());
  const ProgramResult best = caption({photos, "--out", out(), "--best", "2"});
  EXPECT_EQ(best.status, 1);
  EXPECT_THAT(best.err, HasSubstr("has captions that were made with best 1, not 2"));
  EXPECT_THAT(best.err, HasSubstr("--overwrite"));
  EXPECT_EQ(text(out()), before);
  models::write_model_file(path("other.safetensors"), test::tiny_caption_model());
  const ProgramResult other = test::run_program(
      {GAZE_PROGRAM, "caption", "--model", path("other.safetensors"), photos, "--out", out()});
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, HasSubstr("by another model"));
  EXPECT_EQ(text(out()), before);
}

TEST_P(CaptionResume, a_file_of_something_else_is_refused_and_kept) {
  const std::string photos = add_folder("photos", 1);
  for (const std::string content : {"my notes\n", "my notes", "{\"image\": 1}\n", "image,caption\r\n"}) {
    add_file("out" + std::string(GetParam()), content);
    const ProgramResult result = caption(to_out(photos));
    EXPECT_EQ(result.status, 1) << content;
    EXPECT_THAT(result.err, HasSubstr(out() + ": "));
    EXPECT_THAT(result.err, HasSubstr("give another --out, or --overwrite to begin anew"));
    EXPECT_EQ(text(out()), content);
  }
}

TEST_P(CaptionResume, a_file_that_another_run_writes_is_refused) {
  const std::string photos = add_folder("photos", 1);
  add_file("out" + std::string(GetParam()), "");
  const int file = ::open(out().c_str(), O_RDWR);
  ASSERT_EQ(::flock(file, LOCK_EX), 0);
  const ProgramResult result = caption(to_out(photos));
  ::close(file);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("is being written by another gaze"));
  EXPECT_EQ(caption(to_out(photos)).status, 0);
}

// Two of the names are no UTF-8 and look alike in the file.
TEST_P(CaptionResume, names_of_any_bytes_are_captioned_once) {
  int64_t colour = 0;
  for (const char* name : {"a,b.png", "a\"b\".png", "\"quoted\".png", "two\nlines.png", "cr\r.png",
                           "=1+2.png", " spaces .png", "熊猫.png", "b\303\244r.png", "\xfe.png", "\xff.png"})
    add_picture(std::string("photos/") + name, ++colour);
  const std::string photos = path("photos"), whole = straight(photos);
  leave(whole.substr(0, whole.size() * 2 / 3));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(caption(to_out(photos)).status, 0);
    EXPECT_EQ(text(out()), whole);
  }
}

}  // namespace
}  // namespace gaze
