// Bounds-checked reading of numbers from a file held in memory. Includes no torch and no OpenCV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gaze::models::detail {

// Why bytes are no picture that can be read. load_image() turns it into a FileError with the path.
struct BadPicture {
  std::string problem;
  std::string next_step;
};

// `reason` completes "is truncated (...)".
[[noreturn]] void fail_truncated(const std::string& reason);

enum class Endian { little, big };

// A window on bytes that somebody else owns. Reading past its end throws BadPicture ("truncated").
class ByteView {
 public:
  ByteView(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

  uint64_t number(size_t offset, size_t bytes, Endian endian) const {
    require(offset, bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      const size_t at = endian == Endian::big ? offset + i : offset + bytes - 1 - i;
      value = value << 8 | data_[at];
    }
    return value;
  }
  uint64_t big(size_t offset, size_t bytes) const { return number(offset, bytes, Endian::big); }
  uint64_t little(size_t offset, size_t bytes) const { return number(offset, bytes, Endian::little); }

  bool has(size_t offset, std::string_view text) const {
    return offset <= size_ && text.size() <= size_ - offset &&
           std::string_view(reinterpret_cast<const char*>(data_) + offset, text.size()) == text;
  }

  ByteView part(size_t offset, size_t bytes) const {
    require(offset, bytes);
    return {data_ + offset, bytes};
  }
  ByteView from(size_t offset) const {
    require(offset, 0);
    return {data_ + offset, size_ - offset};
  }

 private:
  void require(size_t offset, size_t bytes) const {
    if (offset > size_ || bytes > size_ - offset) fail_truncated("it ends in the middle of a header");
  }

  const uint8_t* data_;
  size_t size_;
};

}  // namespace gaze::models::detail
