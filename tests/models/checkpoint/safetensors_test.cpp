#include "models/checkpoint/safetensors.h"

#include <ATen/ATen.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/models/checkpoint/golden.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

#include "modules/core/error.h"

namespace gaze::models {
namespace {

const std::string kDamaged = "; copy or download it again";

std::string with_header(const std::string& header, size_t data_bytes) {
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i)
    file[i] = static_cast<char>(static_cast<uint64_t>(header.size()) >> (8 * i) & 0xff);
  return file + header + std::string(data_bytes, '\1');
}

class SafetensorsFile : public ::testing::Test {
 protected:
  void expect_error(const std::string& content, const std::string& text) {
    test::write_file(path_, content);
    EXPECT_THROWS_WITH(read_safetensors(path_), FileError, path_.string() + ": " + text);
  }
  void expect_header_error(const std::string& header, size_t data_bytes, const std::string& text) {
    SCOPED_TRACE(header);
    expect_error(with_header(header, data_bytes), text);
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "a.safetensors";
};

TEST_F(SafetensorsFile, ReadsKnownBytes) {
  test::write_file(
      path_,
      with_header(R"({"a":{"dtype":"I32","shape":[1,2],"data_offsets":[0,8]},"__metadata__":{"k":"v"}})", 8));
  const Safetensors content = read_safetensors(path_);
  ASSERT_EQ(content.tensors.size(), 1U);
  EXPECT_EQ(content.tensors.at("a").sizes().vec(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(content.tensors.at("a")[0][1].item<int32_t>(), 0x01010101);
  EXPECT_EQ(content.metadata, (std::map<std::string, std::string>{{"k", "v"}}));
}

TEST_F(SafetensorsFile, WritesTheBytesOfTheReference) {
  const std::filesystem::path golden = test::golden_checkpoints() / "types.safetensors";
  write_safetensors(path_, read_safetensors(golden));
  EXPECT_EQ(test::file_content(path_), test::file_content(golden));
}

TEST_F(SafetensorsFile, RoundTripKeepsValuesOfViews) {
  const at::Tensor base = at::arange(12, at::kFloat).view({3, 4});
  Safetensors content;
  content.tensors = {{"t", base.t()},
                     {"s", base.select(1, 2)},
                     {"scalar", at::scalar_tensor(2.5)},
                     {"none", at::empty({0, 3})}};
  content.metadata = {{"text", "line\n\"quoted\" \xc3\xa9"}};
  write_safetensors(path_, content);
  const Safetensors back = read_safetensors(path_);
  ASSERT_EQ(back.tensors.size(), content.tensors.size());
  for (const auto& [name, tensor] : content.tensors)
    EXPECT_TRUE(at::equal(back.tensors.at(name), tensor)) << name;
  EXPECT_EQ(back.metadata, content.metadata);
}

TEST_F(SafetensorsFile, EmptyFileOfNoTensors) {
  write_safetensors(path_, {});
  EXPECT_TRUE(read_safetensors(path_).tensors.empty());
}

TEST_F(SafetensorsFile, LengthsThatLie) {
  expect_error(std::string("{\0\0\0\0\0\0\0{", 9), "is too short for a safetensors file" + kDamaged);
  std::string lie = with_header("{}        ", 0);
  lie[7] = 1;
  expect_error(
      lie, "is not a safetensors file (its header would have 72057594037927946 bytes); give another file");
  lie[7] = 0;
  lie[0] = 11;
  expect_error(lie, "is cut short: its header has 11 bytes, 10 are there" + kDamaged);
}

TEST_F(SafetensorsFile, HeadersThatLie) {
  const std::string start = R"({"a":{"dtype":"F32","shape":)";
  expect_header_error(start + R"([2],"data_offsets":[0,8]}})", 7,
                      "is cut short: its tensors have 8 bytes, 7 are there" + kDamaged);
  expect_header_error(start + R"([2],"data_offsets":[0,8]}})", 9,
                      "is damaged: 1 bytes follow its last tensor" + kDamaged);
  expect_header_error(start + R"([2],"data_offsets":[4,12]}})", 12,
                      "is damaged: the data of \"a\" begin at 4, expected 0" + kDamaged);
  expect_header_error(start + R"([2],"data_offsets":[0,4]}})", 4,
                      "is damaged: \"a\" [2] of float32 needs 8 bytes, its data_offsets give 4" + kDamaged);
  expect_header_error(start + R"([2],"data_offsets":[8,0]}})", 8,
                      "is damaged: the data of \"a\" begin at 8, expected 0" + kDamaged);
  expect_header_error(
      start + R"([2],"data_offsets":[0,18446744073709551615]}})", 8,
      "is damaged: \"a\" [2] of float32 needs 8 bytes, its data_offsets give 18446744073709551615" +
          kDamaged);
  expect_header_error(start + R"([-2],"data_offsets":[0,8]}})", 8,
                      "is damaged: its header gives \"a\" a negative number, -2" + kDamaged);
  expect_header_error(start + R"([4611686018427387904,4],"data_offsets":[0,0]}})", 0,
                      "is damaged: its header gives \"a\" an impossible shape" + kDamaged);
  expect_header_error(start + R"([0,4611686018427387904,4],"data_offsets":[0,0]}})", 0,
                      "is damaged: its header gives \"a\" an impossible shape" + kDamaged);
  expect_header_error(start + R"([2.5],"data_offsets":[0,8]}})", 8,
                      "is damaged: its header describes \"a\" wrongly" + kDamaged);
  expect_header_error(R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", 8,
                      "is damaged: its header gives \"a\" the dtype \"F31\", which is not known" + kDamaged);
  expect_header_error(
      start + R"([2]}})", 8,
      "is damaged: its header does not give \"a\" a dtype, a shape and two data_offsets" + kDamaged);
  expect_header_error(
      start + R"([1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})", 6,
      "is damaged: the data of \"b\" begin at 2, expected 4" + kDamaged);
  expect_header_error(
      start + R"([1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8,
      "is damaged: its header names \"a\" twice" + kDamaged);
  expect_header_error(start + R"([1],"shape":[1],"data_offsets":[0,4]}})", 4,
                      "is damaged: its header gives \"a\" the field \"shape\" twice" + kDamaged);
  expect_header_error(R"({"__metadata__":{"k":1}})", 0,
                      "is damaged: its header describes \"__metadata__\" wrongly" + kDamaged);
  expect_header_error(R"({"a":)", 0, "is damaged: its header is not JSON at its byte 6" + kDamaged);
  expect_header_error(R"([1, 2])", 8,
                      "is not a safetensors file (its header is not JSON); give another file");
  expect_header_error("{\"a\":" + std::string(100000, '['), 0,
                      "is damaged: its header describes \"a\" wrongly" + kDamaged);
}

TEST_F(SafetensorsFile, RefusesToWriteWhatItCannotHold) {
  EXPECT_THROWS_WITH(
      write_safetensors(path_, {{{"a", at::zeros({1}, at::kComplexDouble)}}, {}}), ArgumentError,
      "[write_safetensors] expected dense tensors of a type safetensors has; got a of complex128");
  EXPECT_THROWS_WITH(write_safetensors(path_, {{{"\xff", at::zeros({1})}}, {}}), ArgumentError,
                     "[write_safetensors] expected names and metadata in UTF-8; got other bytes");
  EXPECT_THROWS_WITH(write_safetensors(path_, {{{"a", at::Tensor()}}, {}}), ArgumentError,
                     "[write_safetensors] expected defined tensors; got an undefined one, a");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SafetensorsFile, FailedWriteLeavesTheOldFileAndNothingElse) {
  write_safetensors(path_, {{{"a", at::ones({2})}}, {}});
  const std::string before = test::file_content(path_);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto* const handler = ::signal(SIGXFSZ, SIG_IGN);  // the write fails as on a full disk
  const rlimit small{4096, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(write_safetensors(path_, {{{"a", at::ones({100000})}}, {}}), FileError);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(test::file_content(path_), before);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_.path())) ++files;
  EXPECT_EQ(files, 1U);
}

}  // namespace
}  // namespace gaze::models
