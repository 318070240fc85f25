// Files made to harm: whatever they claim, the error is clear, nothing is run, and memory stays within
// 4 x the file + 64 MB.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include "tests/models/checkpoint/golden.h"
#include "tests/models/checkpoint/zip_file.h"
#include "tests/support/memory_limit.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

#include "models/checkpoint/model_file.h"
#include "models/checkpoint/safetensors.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

using namespace std::string_literals;
using nlohmann::json;

const std::string kAgain = "; copy or download it again";
const std::string kSave = "; save it in Python with torch.save(model.state_dict(), FILE)";

class HostileFile : public ::testing::Test {
 protected:
  // `read` throws the error within the memory the file may cost.
  template <typename Read>
  void expect_error(const std::string& content, const std::string& text, const Read& read) {
    test::write_file(path_, content);
    const test::MemoryLimit limit(4 * content.size() + (64 << 20));
    EXPECT_THROWS_WITH(read(), FileError, path_.string() + ": " + text);
  }
  void expect_error(const std::string& content, const std::string& text) {
    expect_error(content, text, [this] { read_state_dict(path_); });
  }
  StateDict read(const std::string& content) {
    test::write_file(path_, content);
    const test::MemoryLimit limit(4 * content.size() + (64 << 20));
    return read_state_dict(path_);
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "hostile.pth";
};

using ZipBomb = HostileFile;

TEST_F(ZipBomb, AnHonestArchiveOfTheTestIsRead) {
  const at::Tensor w = read(test::checkpoint_zip().content()).at("w");
  EXPECT_TRUE(at::equal(w, at::arange(4, at::kFloat)));
}

TEST_F(ZipBomb, ManyEntriesOnOneStretchOfData) {
  test::ZipFile zip = test::checkpoint_zip();
  test::ZipEntryText entry("a/data/x", std::string(1 << 20, 'x'));
  zip.entries.push_back(entry);
  for (int i = 0; i < 20'000; ++i) {
    entry.name = "a/data/x" + std::to_string(i);
    entry.shares_with = "a/data/x";
    zip.entries.push_back(entry);
  }
  expect_error(zip.content(), "is damaged: as a zip archive its entries overlap" + kAgain);
}

TEST_F(ZipBomb, CompressedEntriesAreNotUnpacked) {
  test::ZipFile zip = test::checkpoint_zip();
  zip.entries[1].method = 8;
  zip.entries[1].size = 0xfffffff0;  // what it claims to become
  expect_error(zip.content(),
               "has a compressed entry, \"a/data/0\", which torch.save does not write" + kSave);
}

TEST_F(ZipBomb, SizesThatLie) {
  test::ZipFile zip = test::checkpoint_zip();
  zip.entries[1].size = 0xfffffff0;
  expect_error(zip.content(),
               "is damaged: as a zip archive the stored entry \"a/data/0\" has two sizes" + kAgain);
  zip.entries[1].stored = 0xfffffff0;
  expect_error(zip.content(),
               "is damaged: as a zip archive the entry \"a/data/0\" lies outside the file" + kAgain);
  zip = test::checkpoint_zip();
  zip.entries[1].size = zip.entries[1].stored = 12;
  expect_error(zip.content(),
               "is damaged: its tensor \"w\" has a storage of another size than the file" + kAgain);
  zip = test::checkpoint_zip();
  zip.entries[1].local = 0xfffffff0;
  expect_error(zip.content(),
               "is damaged: as a zip archive the entry \"a/data/0\" lies outside the file" + kAgain);
  zip.entries[1].local = 5;
  expect_error(zip.content(),
               "is damaged: as a zip archive the entry \"a/data/0\" is not where it says" + kAgain);
  zip = test::checkpoint_zip();
  zip.entries[0].size = zip.entries[0].stored = 10;  // the pickle must not go on into what follows it
  expect_error(zip.content(), "ends in the middle of a pickle" + kAgain);
}

TEST_F(ZipBomb, SizesOf64BitsThatLie) {
  test::ZipFile zip = test::checkpoint_zip();
  zip.entries[1].size64 = 16;
  EXPECT_TRUE(at::equal(read(zip.content()).at("w"), at::arange(4, at::kFloat)));
  zip.entries[1].size64 = UINT64_MAX - 8;
  expect_error(zip.content(),
               "is damaged: as a zip archive the entry \"a/data/0\" lies outside the file" + kAgain);
}

TEST_F(ZipBomb, DirectoriesThatLie) {
  test::ZipFile zip = test::checkpoint_zip();
  zip.directory_entries = 60'000;
  expect_error(zip.content(),
               "is damaged: as a zip archive it claims more entries than its directory holds" + kAgain);
  zip = test::checkpoint_zip();
  zip.directory_bytes = 0x7fffffff;
  expect_error(zip.content(), "is damaged: as a zip archive its directory lies outside the file" + kAgain);
  zip.directory_bytes = 50;
  expect_error(zip.content(),
               "is damaged: as a zip archive it claims more entries than its directory holds" + kAgain);
  zip.directory_entries = 1;
  expect_error(zip.content(), "ends in the middle of its zip directory" + kAgain);
}

constexpr size_t kDeep = 200'000;

std::string nested_lists() {
  return "\x80\x02"s + std::string(kDeep, ']') + std::string(kDeep - 1, 'a') + ".";
}

TEST_F(HostileFile, NestingIsRefusedInEveryFormat) {
  const std::string deep = "nests its data more than 1000 deep" + kSave;
  expect_error(nested_lists(), deep);
  test::ZipFile zip = test::checkpoint_zip();
  zip.entries[0].data = nested_lists();
  expect_error(zip.content(), deep);
  std::string tuples = "\x80\x02N"s + std::string(kDeep, '\x85') + ".";
  zip.entries[0].data = tuples;
  expect_error(zip.content(), deep);
  std::string calls = "\x80\x02(cm\nf\nq\x00."s;  // f(f(f(...)))
  calls.pop_back();
  for (size_t i = 0; i < kDeep; ++i) calls += "h\x00"s;
  calls += ")" + std::string(kDeep, 'R') + ".";
  zip.entries[0].data = calls;
  expect_error(zip.content(), deep);
}

std::string safetensors_of(const std::string& header, const std::string& data = {}) {
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i));
  return length + header + data;
}

TEST_F(HostileFile, NestedHeadersOfSafetensors) {
  expect_error(safetensors_of("{\"a\":" + std::string(kDeep, '[') + std::string(kDeep, ']') + "}"),
               "is damaged: its header describes \"a\" wrongly" + kAgain);
  std::string objects;
  for (size_t i = 0; i < kDeep; ++i) objects += "{\"a\":";
  expect_error(safetensors_of(objects + "1" + std::string(kDeep, '}')),
               "is damaged: its header gives \"a\" an unknown field \"a\"" + kAgain);
  expect_error(safetensors_of("{\"__metadata__\":{\"gaze\":\"" + std::string(kDeep, '[') +
                              std::string(kDeep, ']') + "\"}}"),
               "is damaged: its \"gaze\" entry nests too deep" + kAgain, [this] { read_model_file(path_); });
}

TEST_F(HostileFile, HeadersWhosePartsNeedMoreThanTheirText) {
  std::string sizes = "1";
  for (int i = 0; i < 8'000'000; ++i) sizes += ",1";
  expect_error(
      safetensors_of("{\"a\":{\"dtype\":\"U8\",\"shape\":[" + sizes + "],\"data_offsets\":[0,1]}}", "x"),
      "is damaged: its header gives \"a\" more than 64 sizes" + kAgain);
  std::string entries;
  for (int i = 0; i < 1'000'000; ++i) entries += fmt::format("{}\"{:x}\":\"\"", i == 0 ? "" : ",", i);
  expect_error(safetensors_of("{\"__metadata__\":{" + entries + "}}"),
               "is damaged: its header has more than 100000 entries of metadata" + kAgain);
  std::string zeros = "0";
  for (int i = 0; i < 6'000'000; ++i) zeros += ",0";
  expect_error(safetensors_of("{\"__metadata__\":{\"gaze\":\"[" + zeros + "]\"}}"),
               "is damaged: its \"gaze\" entry has more than 500000 values" + kAgain,
               [this] { read_model_file(path_); });
}

TEST_F(HostileFile, WidePicklesStayWithinTheirMemory) {
  std::string names = "\x80\x02}("s;
  for (int i = 0; i < 130'000; ++i) names += "U\x05" + fmt::format("{:05x}", i) + "N";
  expect_error(test::checkpoint_zip(names + "u.").content(),
               "holds no tensors by name; its entries are 00000, 00001, 00002, 00003, 00004, 00005, 00006, "
               "00007" +
                   kSave);
  // One tensor under very many names.
  std::string views = "\x80\x02}(U\1w" + test::kTensorPickle + "q\1";
  const size_t view_count = 99'000;
  for (size_t i = 1; i < view_count; ++i) views += "U\x05" + fmt::format("{:05x}", i) + "h\1";
  EXPECT_EQ(read(test::checkpoint_zip(views + "u.").content()).size(), view_count);
}

TEST_F(HostileFile, CallsInsideAreOnlyNamed) {
  const std::filesystem::path trace = folder_.path() / "was_here";
  const std::string command = "touch " + trace.string();
  const std::string call =
      "cposix\nsystem\nX" + std::string(1, static_cast<char>(command.size())) + "\0\0\0"s + command + "\x85R";
  // Beside a tensor, as a tensor's argument, and as the state of an object.
  EXPECT_EQ(
      read(test::checkpoint_zip("\x80\x02}(U\1w" + test::kTensorPickle + "U\1x" + call + "u.").content())
          .size(),
      1U);
  expect_error(
      test::checkpoint_zip("\x80\x02}U\1wctorch._utils\n_rebuild_tensor_v2\n(" + call + "K\0"s + "))tRs.")
          .content(),
      "is damaged: its tensor \"w\" has no storage" + kAgain);
  expect_error(test::checkpoint_zip("\x80\x02" + call + "}U\1a" + call + "sb.").content(),
               "holds an object made by posix.system, not a state dict (nothing of it was run)" + kSave);
  EXPECT_FALSE(std::filesystem::exists(trace));
}

}  // namespace
}  // namespace gaze::models
