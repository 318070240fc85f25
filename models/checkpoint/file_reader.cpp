#include "models/checkpoint/file_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "modules/core/error.h"

namespace gaze::models {
namespace {

constexpr uint64_t kBuffer = 64 << 10;
constexpr uint64_t kLongestLine = 4096;

constexpr size_t kLongestShown = 80;

}  // namespace

std::string shown(std::string_view name) {
  std::string text(name.substr(0, kLongestShown));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      '?');
  return name.size() > kLongestShown ? text + "..." : text;
}

FileReader::FileReader(const std::filesystem::path& path) : path_(path.string()) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not block
  if (descriptor_ < 0) {
    if (errno == ENOENT) fail("does not exist", "check the path");
    fail(fmt::format("cannot be read ({})", std::strerror(errno)), "check the path and its permissions");
  }
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  const char* problem = nullptr;
  const char* next_step = "give the file itself";
  if (!known || (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))) {
    problem = "is not a regular file";
  } else if (S_ISDIR(status.st_mode)) {
    problem = "is a folder";
    next_step = "give a file inside it";
  } else if (status.st_size == 0) {
    problem = "is empty";
    next_step = kCopyAgain;
  }
  if (problem != nullptr) {
    ::close(descriptor_);  // the destructor of an unfinished object does not run
    fail(problem, next_step);
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

FileReader::~FileReader() {
  ::close(descriptor_);
}

void FileReader::read(uint64_t offset, void* destination, uint64_t bytes) const {
  if (!holds(offset, bytes)) fail("is cut short", kCopyAgain);
  char* to = static_cast<char*>(destination);
  while (bytes > 0) {
    const size_t most = std::min<uint64_t>(bytes, uint64_t{1} << 30);
    const ssize_t count = ::pread(descriptor_, to, most, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(fmt::format("cannot be read ({})", std::strerror(errno)), "check the disk");
    if (count == 0) fail("became shorter while it was read", "try again once it is complete");
    to += count;
    offset += static_cast<uint64_t>(count);
    bytes -= static_cast<uint64_t>(count);
  }
}

std::string FileReader::read_text(uint64_t offset, uint64_t bytes) const {
  if (!holds(offset, bytes)) fail("is cut short", kCopyAgain);
  std::string text(bytes, '\0');
  read(offset, text.data(), bytes);
  return text;
}

void FileReader::fail(const std::string& problem, const std::string& next_step) const {
  throw FileError(path_, problem, next_step);
}

ByteCursor::ByteCursor(const FileReader& file, uint64_t begin, uint64_t end)
    : file_(file), position_(begin), end_(std::min(end, file.size())) {
  position_ = std::min(position_, end_);
}

void ByteCursor::need(uint64_t bytes, const char* what) const {
  if (bytes > remaining()) file_.fail(fmt::format("ends in the middle of {}", what), kCopyAgain);
}

void ByteCursor::copy(void* destination, uint64_t bytes) {
  char* to = static_cast<char*>(destination);
  while (bytes > 0) {
    if (position_ < buffer_begin_ || position_ >= buffer_begin_ + buffer_.size()) {
      if (bytes >= kBuffer) {
        file_.read(position_, to, bytes);
        position_ += bytes;
        return;
      }
      buffer_begin_ = position_;
      buffer_.resize(std::min(kBuffer, remaining()));
      file_.read(buffer_begin_, buffer_.data(), buffer_.size());
    }
    const uint64_t at = position_ - buffer_begin_;
    const uint64_t count = std::min(bytes, buffer_.size() - at);
    std::memcpy(to, buffer_.data() + at, count);
    to += count;
    position_ += count;
    bytes -= count;
  }
}

uint8_t ByteCursor::byte(const char* what) {
  need(1, what);
  uint8_t value = 0;
  copy(&value, 1);
  return value;
}

uint64_t ByteCursor::unsigned_little_endian(int bytes, const char* what) {
  need(static_cast<uint64_t>(bytes), what);
  uint8_t raw[8] = {};
  copy(raw, static_cast<uint64_t>(bytes));
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i) value = value << 8 | raw[i];
  return value;
}

std::string ByteCursor::text(uint64_t bytes, const char* what) {
  need(bytes, what);
  std::string value(bytes, '\0');
  copy(value.data(), bytes);
  return value;
}

std::string ByteCursor::line(const char* what) {
  std::string value;
  for (;;) {
    const char next = static_cast<char>(byte(what));
    if (next == '\n') return value;
    if (value.size() == kLongestLine)
      file_.fail(fmt::format("is damaged: a line of {} is too long", what), kCopyAgain);
    value.push_back(next);
  }
}

void ByteCursor::skip(uint64_t bytes, const char* what) {
  need(bytes, what);
  position_ += bytes;
}

}  // namespace gaze::models
