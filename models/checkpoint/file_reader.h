// A file that is read by position, every read checked against its size. Includes no torch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gaze::models {

// Next steps of file errors, said the same way everywhere.
inline constexpr const char* kCopyAgain = "copy or download it again";
inline constexpr const char* kSaveStateDict = "save it in Python with torch.save(model.state_dict(), FILE)";

// A name from a file, fit for an error text: at most 80 bytes, no control characters.
std::string shown(std::string_view name);

class FileReader {
 public:
  // Throws FileError: missing, a folder, no permission, empty.
  explicit FileReader(const std::filesystem::path& path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  uint64_t size() const { return size_; }

  // True when [offset, offset + bytes) lies within the file; cannot overflow.
  bool holds(uint64_t offset, uint64_t bytes) const { return offset <= size_ && bytes <= size_ - offset; }

  // Throws FileError when the range is not within the file. The destination has room for `bytes`.
  void read(uint64_t offset, void* destination, uint64_t bytes) const;
  std::string read_text(uint64_t offset, uint64_t bytes) const;

  // Throws FileError about this file.
  [[noreturn]] void fail(const std::string& problem, const std::string& next_step) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// Reads [begin, end) of a file forwards, through a small buffer.
class ByteCursor {
 public:
  ByteCursor(const FileReader& file, uint64_t begin, uint64_t end);

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return end_ - position_; }

  // All throw FileError ("ends in the middle of WHAT") when fewer bytes remain; checked before anything is
  // allocated.
  uint8_t byte(const char* what);
  uint64_t unsigned_little_endian(int bytes, const char* what);
  std::string text(uint64_t bytes, const char* what);
  std::string line(const char* what);  // up to '\n', without it; at most 4096 bytes
  void skip(uint64_t bytes, const char* what);

 private:
  void need(uint64_t bytes, const char* what) const;
  void copy(void* destination, uint64_t bytes);

  const FileReader& file_;
  uint64_t position_, end_;
  uint64_t buffer_begin_ = 0;
  std::vector<char> buffer_;
};

}  // namespace gaze::models
