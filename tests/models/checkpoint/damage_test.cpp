// Damaged and hostile checkpoints: whatever the bytes, a file is read or refused with a FileError; no crash,
// no allocation that its size does not justify.
#include <ATen/ATen.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "tests/models/checkpoint/golden.h"
#include "tests/support/memory_limit.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

#include "models/checkpoint/model_file.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

using namespace std::string_literals;

// True when it was read. Reads all values too, so that a sanitizer sees what a tensor reaches.
bool try_to_read(const std::filesystem::path& path) {
  try {
    for (const auto& [name, tensor] : read_state_dict(path)) tensor.contiguous().clone();
    return true;
  } catch (const FileError& error) {
    EXPECT_EQ(std::string(error.what()).rfind(path.string() + ": ", 0), 0U) << error.what();
    EXPECT_EQ(std::string(error.what()).find("memory"), std::string::npos) << error.what();
    EXPECT_LT(std::string(error.what()).size(), path.string().size() + 1200) << error.what();
    return false;
  }
}

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(test::golden_checkpoints())) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".pth" || extension == ".pt" || extension == ".pkl" || extension == ".safetensors")
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A file in memory: tens of thousands of versions are written.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("gaze", 0)) {}
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void write(const std::string& content) {
    ASSERT_EQ(::ftruncate(descriptor_, static_cast<off_t>(content.size())), 0);
    ASSERT_EQ(::pwrite(descriptor_, content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
  }

 private:
  int descriptor_;
};

TEST(DamagedCheckpoints, CutAnywhere) {
  MemoryFile file;
  ASSERT_GE(golden_files().size(), 28U);
  const test::MemoryLimit limit(80 << 20);
  for (const auto& golden : golden_files()) {
    SCOPED_TRACE(golden.filename());
    const std::string content = test::file_content(golden);
    const size_t step = std::max<size_t>(1, content.size() / 150);
    for (size_t length = 1; length < content.size(); length += step) {
      file.write(content.substr(0, length));
      EXPECT_FALSE(try_to_read(file.path())) << "cut after " << length;
    }
  }
}

TEST(DamagedCheckpoints, BytesFlipped) {
  MemoryFile file;
  std::mt19937 random(7);
  size_t read = 0, refused = 0;
  const test::MemoryLimit limit(80 << 20);
  for (const auto& golden : golden_files()) {
    SCOPED_TRACE(golden.filename());
    const std::string content = test::file_content(golden);
    for (int i = 0; i < 300; ++i) {
      std::string damaged = content;
      for (int flips = 1 + i % 3; flips > 0; --flips) {
        damaged[random() % damaged.size()] = static_cast<char>(i % 2 == 0 ? random() : 0xff);
      }
      file.write(damaged);
      const bool fine = try_to_read(file.path());
      ++(fine ? read : refused);
      if (::testing::Test::HasFailure()) FAIL() << "flip " << i;
    }
  }
  EXPECT_GT(read, 500U);
  EXPECT_GT(refused, 500U);
}

// A legacy file with one float tensor "w" on a storage of the four numbers 0, 1, 2, 3.
struct LegacyFile {
  std::string protocol = "M\xe9\x03"s;
  std::string little_endian = "\x88";
  std::string function = "ctorch._utils\n_rebuild_tensor_v2\n";
  std::string storage = "ctorch\nFloatStorage\n";
  std::string elements = "K\x04";
  std::string view = "N";
  std::string offset = "K\x00"s;
  std::string size = "K\x02K\x02\x86";
  std::string stride = "K\x02K\x01\x86";
  std::string key = "0";
  std::string stored_elements = "\4\0\0\0\0\0\0\0"s;

  std::string content() const {
    const std::string start = "\x80\x02";
    const std::vector<float> values = {0, 1, 2, 3};
    return start + "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." + start + protocol + "." + start +
           "}U\x0dlittle_endian" + little_endian + "s." + start + "}U\x01w" + function + "((U\x07storage" +
           storage + "U\x01" + "0U\x03" + "cpu" + elements + view + "tQ" + offset + size + stride +
           "\x89}tRs." + start + "]U\x01" + key + "a." + stored_elements +
           std::string(reinterpret_cast<const char*>(values.data()), 16);
  }
};

class HostileCheckpoint : public ::testing::Test {
 protected:
  void expect_error(const LegacyFile& file, const std::string& text) {
    test::write_file(path_, file.content());
    EXPECT_THROWS_WITH(read_state_dict(path_), FileError, path_.string() + ": " + text);
  }
  void expect_damaged(const LegacyFile& file, const std::string& text) {
    expect_error(file, "is damaged: " + text + "; copy or download it again");
  }
  at::Tensor read(const LegacyFile& file) {
    test::write_file(path_, file.content());
    return read_state_dict(path_).at("w");
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "hostile.pth";
};

TEST_F(HostileCheckpoint, TheHonestOneIsRead) {
  EXPECT_TRUE(at::equal(read({}), at::arange(4, at::kFloat).view({2, 2})));
  LegacyFile file;
  file.function = "ctorch._utils\n_rebuild_tensor\n";
  EXPECT_TRUE(at::equal(read(file), at::arange(4, at::kFloat).view({2, 2})));
}

TEST_F(HostileCheckpoint, ViewOfAStorage) {
  LegacyFile file;
  file.view = "(U\1vK\1K\3t";
  file.size = "K\3\x85";
  file.stride = "K\1\x85";
  EXPECT_TRUE(at::equal(read(file), at::arange(1, 4, at::kFloat)));
  file.view = "(U\1vK\1K\2t";
  expect_damaged(file, "its tensor \"w\" reaches outside its storage");
  file.view = "(U\1vK\1K\4t";
  expect_damaged(file, "a view of a storage lies outside it");
}

TEST_F(HostileCheckpoint, SizesAndStridesThatLie) {
  LegacyFile file;
  file.offset = "K\1";
  expect_damaged(file, "its tensor \"w\" reaches outside its storage");
  file.offset = "J\xff\xff\xff\xff";
  expect_damaged(file, "its tensor \"w\" has no offset into its storage");
  file.offset = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f";
  expect_damaged(file, "its tensor \"w\" has impossible sizes or strides");

  file = {};
  file.size = "K\2J\xfe\xff\xff\xff\x86";
  expect_damaged(file, "its tensor \"w\" has a size or stride that is negative or no number");
  file.size = "K\2\x85";
  expect_damaged(file, "its tensor \"w\" has more sizes than strides, or fewer");
  file.size = "N";
  expect_damaged(file, "its tensor \"w\" has no sizes or strides");
  file.size = "\x8a\x05\0\0\0\0\1\x8a\x05\0\0\0\0\1\x86"s;
  expect_damaged(file, "its tensor \"w\" has impossible sizes or strides");
  file.size = "\x8a\x05\0\0\0\0\1K\1\x86"s;
  file.stride = "K\x00K\1\x86"s;
  expect_damaged(file, "its tensor \"w\" repeats its storage too often");
  file.stride = "\x8a\x05\0\0\0\0\1K\1\x86"s;
  expect_damaged(file, "its tensor \"w\" has impossible sizes or strides");
}

TEST_F(HostileCheckpoint, StoragesThatLie) {
  LegacyFile file;
  file.elements = "K\5";
  expect_damaged(file, "its tensor \"w\" has a storage of another size than the file");
  file.elements = "J\xff\xff\xff\xff";
  expect_damaged(file, "it refers to a storage in an unknown way");
  file = {};
  file.key = "1";
  expect_damaged(file, "it stores data that nothing refers to");
  file = {};
  file.storage = "ctorch\nStrangeStorage\n";
  expect_error(file,
               "has a storage of the type torch.StrangeStorage, which is not known; save it in Python with "
               "torch.save(model.state_dict(), FILE)");
  file = {};
  file.stored_elements = "\0\0\0\0\0\0\0\x40"s;
  expect_error(file, "ends in the middle of its tensors; copy or download it again");
}

TEST_F(HostileCheckpoint, ModulesThatContainThemselves) {
  // An object m with the state {"_parameters": {}, "_modules": {"a": m}}
  const std::string module =
      "cm\nNet\n)\x81q\x00}(U\x0b_parameters}U\x08_modules}U\x01"
      "ah\x00su"s +
      "b";
  LegacyFile file;
  std::string content = file.content();
  const std::string start = "\x80\x02";
  const size_t object = content.find(start + "}U\x01w");
  const size_t keys = content.find(start + "]U\x01");
  content = content.substr(0, object) + start + module + "." + content.substr(keys);
  content.replace(content.find("]U\x01"
                               "0a"),
                  5, "]");
  test::write_file(path_, content);
  EXPECT_THROWS_WITH(
      read_state_dict(path_), FileError,
      path_.string() + ": is damaged: its modules contain each other without end; copy or download it again");
}

TEST_F(HostileCheckpoint, OtherMachinesAndProtocols) {
  LegacyFile file;
  file.little_endian = "\x89";
  expect_error(file, "was saved on a big-endian machine; save it again on a little-endian machine");
  file = {};
  file.protocol = "M\xea\x03";
  expect_error(file,
               "has another protocol than 1001 of torch.save; save it in Python with "
               "torch.save(model.state_dict(), FILE)");
  file = {};
  file.function = "ctorch._utils\n_rebuild_qtensor\n";
  expect_error(file,
               "has a tensor \"w\" of a kind that is not read (torch._utils._rebuild_qtensor); save it as a "
               "dense tensor "
               "(.dequantize(), .to_dense())");
}

}  // namespace
}  // namespace gaze::models
