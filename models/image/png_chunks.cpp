#include "models/image/png_chunks.h"

#include <array>

namespace gaze::models::detail {
namespace {

constexpr size_t kSignature = 8;

std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? 0xEDB88320U ^ value >> 1 : value >> 1;
    table[i] = value;
  }
  return table;
}

// CRC-32 as PNG and zlib have it.
uint32_t crc32(ByteView bytes) {
  static const std::array<uint32_t, 256> table = crc_table();
  uint32_t crc = 0xFFFFFFFFU;
  for (size_t i = 0; i < bytes.size(); ++i) crc = table[(crc ^ bytes.data()[i]) & 0xFF] ^ crc >> 8;
  return ~crc;
}

bool carries_pixels(const PngChunk& chunk) {
  return chunk.is("IHDR") || chunk.is("PLTE") || chunk.is("tRNS") || chunk.is("IDAT") || chunk.is("IEND");
}

}  // namespace

void walk_png(ByteView file, const std::function<void(const PngChunk&)>& visit) {
  size_t offset = kSignature;
  while (file.size() - offset >= 12) {
    const size_t length = file.big(offset, 4);
    if (length > file.size() - offset - 12) break;
    const PngChunk chunk{file.part(offset + 8, length), file.part(offset, length + 12)};
    if (carries_pixels(chunk) &&
        crc32(file.part(offset + 4, length + 4)) != file.big(offset + 8 + length, 4)) {
      throw BadPicture{"is a damaged PNG (a checksum is wrong)", "copy or download it again"};
    }
    visit(chunk);
    if (chunk.is("IEND")) return;
    offset += length + 12;
  }
  fail_truncated("the PNG has no end");
}

std::vector<uint8_t> essential_png(ByteView file) {
  std::vector<uint8_t> result(file.data(), file.data() + kSignature);
  walk_png(file, [&](const PngChunk& chunk) {
    if (carries_pixels(chunk))
      result.insert(result.end(), chunk.whole.data(), chunk.whole.data() + chunk.whole.size());
  });
  return result;
}

}  // namespace gaze::models::detail
