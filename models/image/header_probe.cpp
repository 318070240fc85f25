#include "models/image/header_probe.h"

#include <cstring>

#include "models/image/png_chunks.h"
#include "models/image/tiff_tags.h"

namespace gaze::models::detail {
namespace {

constexpr const char* kCopyAgain = "copy or download it again";
constexpr const char* kSaveAgain = "save the picture again";

bool is_tiff(ByteView file) {
  return file.has(0, std::string_view("II*\0", 4)) || file.has(0, std::string_view("MM\0*", 4)) ||
         file.has(0, std::string_view("II+\0", 4)) || file.has(0, std::string_view("MM\0+", 4));
}

bool is_text(ByteView file) {
  const size_t n = file.size() < 64 ? file.size() : 64;
  for (size_t i = 0; i < n; ++i) {
    const uint8_t c = file.data()[i];
    if (c < 9 || (c > 13 && c < 32) || c == 127) return false;
  }
  return true;
}

PictureFormat sniff(ByteView file) {
  if (file.has(0, "\xff\xd8\xff")) return PictureFormat::jpeg;
  if (file.has(0, std::string_view("\x89PNG\r\n\x1a\n", 8))) return PictureFormat::png;
  if (file.has(0, "BM") && file.size() >= 26) return PictureFormat::bmp;
  if (is_tiff(file)) return PictureFormat::tiff;
  if (file.has(0, "RIFF") && file.has(8, "WEBP")) return PictureFormat::webp;
  const char* next_step = "give a JPEG, PNG, BMP, TIFF or WebP";
  if (file.has(0, "GIF8")) throw BadPicture{"is a GIF, which gaze does not read", "convert it to PNG"};
  if (file.has(4, "ftyp"))
    throw BadPicture{"is a HEIC, AVIF or video file, which gaze does not read", "convert it to JPEG"};
  if (is_text(file)) throw BadPicture{"is not a picture but text, whatever its name says", next_step};
  throw BadPicture{"is not a picture gaze knows", next_step};
}

// ---- JPEG: segments FF xx length..., entropy-coded data after SOS, to EOI.

bool is_start_of_frame(uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

// Where the entropy-coded data that starts at `offset` ends: at a marker that is neither stuffing nor
// restart.
size_t skip_entropy_coded(ByteView file, size_t offset) {
  while (offset < file.size()) {
    const void* found = std::memchr(file.data() + offset, 0xFF, file.size() - offset);
    if (found == nullptr) break;
    offset = static_cast<size_t>(static_cast<const uint8_t*>(found) - file.data());
    if (offset + 1 >= file.size()) break;
    const uint8_t next = file.data()[offset + 1];
    if (next != 0x00 && next != 0xFF && !(next >= 0xD0 && next <= 0xD7)) return offset;
    offset += next == 0xFF ? 1 : 2;
  }
  fail_truncated("the JPEG has no end marker");
}

struct JpegWalk {
  int64_t width = 0, height = 0;
  int orientation = 1;
};

JpegWalk walk_jpeg(ByteView file, bool only_to_the_size) {
  JpegWalk result;
  bool has_frame = false;
  size_t offset = 2;
  while (true) {
    // Garbage between segments is skipped, as every decoder does.
    while (offset < file.size() && file.data()[offset] != 0xFF) ++offset;
    while (offset + 1 < file.size() && file.data()[offset + 1] == 0xFF) ++offset;
    if (offset + 1 >= file.size()) fail_truncated("the JPEG has no end marker");
    const uint8_t marker = file.data()[offset + 1];
    offset += 2;
    if (marker == 0xD9) {
      if (!has_frame) throw BadPicture{"is a JPEG without a picture in it", kSaveAgain};
      return result;
    }
    if (marker == 0x00 || marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8)) continue;
    if (offset + 2 > file.size()) fail_truncated("the JPEG has no end marker");
    const size_t length = file.big(offset, 2);
    if (length < 2) throw BadPicture{"is a damaged JPEG (a segment without a length)", kCopyAgain};
    if (is_start_of_frame(marker)) {
      result.height = static_cast<int64_t>(file.big(offset + 3, 2));
      result.width = static_cast<int64_t>(file.big(offset + 5, 2));
      has_frame = true;
      if (only_to_the_size) return result;
    } else if (marker == 0xE1 && file.has(offset + 2, std::string_view("Exif\0\0", 6)) && length >= 8) {
      if (length > file.size() - offset) fail_truncated("the JPEG has no end marker");
      result.orientation = exif_orientation(file.part(offset + 2, length - 2));
    }
    offset += length;
    if (marker == 0xDA) offset = skip_entropy_coded(file, offset);
  }
}

// ---- BMP

PictureSize bmp_size(ByteView file) {
  PictureSize size{PictureFormat::bmp};
  if (file.little(14, 4) == 12) {
    size.width = static_cast<int64_t>(file.little(18, 2));
    size.height = static_cast<int64_t>(file.little(20, 2));
  } else {
    size.width = static_cast<int32_t>(file.little(18, 4));
    const int64_t height = static_cast<int32_t>(file.little(22, 4));
    size.height = height < 0 ? -height : height;  // negative: rows from the top
  }
  return size;
}

void check_bmp(ByteView file, const PictureSize& size) {
  const uint64_t header = file.little(14, 4);
  const bool old = header == 12;
  const uint64_t bits = old ? file.little(24, 2) : file.little(28, 2);
  const uint64_t compression = old ? 0 : file.little(30, 4);
  const bool run_length = compression == 1 || compression == 2;
  const bool known = bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32;
  const uint64_t palette = old ? 0 : file.little(46, 4);
  if (!known || compression > 3 || palette > 256 || header < 12 || (!old && header < 40) ||
      file.little(10, 4) < 14 + header)
    throw BadPicture{"is a damaged BMP", kSaveAgain};
  // Some writers leave the file's length at 0, so the pixels are counted; run-length coded ones cannot be.
  const uint64_t row = (static_cast<uint64_t>(size.width) * bits + 31) / 32 * 4;
  const uint64_t needed =
      run_length ? file.little(2, 4) : file.little(10, 4) + row * static_cast<uint64_t>(size.height);
  if (needed > file.size()) fail_truncated("the BMP has fewer pixels than its header says");
}

// ---- TIFF

PictureSize tiff_size(ByteView file) {
  const TiffTags tags(file);
  return {PictureFormat::tiff, static_cast<int64_t>(tags.number(256, 0)),
          static_cast<int64_t>(tags.number(257, 0))};
}

PictureDetails tiff_details(ByteView file) {
  const TiffTags tags(file);
  // Strips or tiles: libtiff would fill what is missing with black and say nothing.
  for (const auto& [offset_tag, count_tag] : {std::pair<uint16_t, uint16_t>{273, 279}, {324, 325}}) {
    const std::vector<uint64_t> offsets = tags.numbers(offset_tag);
    const std::vector<uint64_t> counts = tags.numbers(count_tag);
    for (size_t i = 0; i < offsets.size(); ++i) {
      const uint64_t count = i < counts.size() ? counts[i] : 0;
      if (offsets[i] > file.size() || count > file.size() - offsets[i])
        fail_truncated("pixels of the TIFF are missing");
    }
  }
  if (tags.numbers(262).empty())
    throw BadPicture{"is a damaged TIFF (it does not say what its colours mean)", kSaveAgain};
  const uint64_t format = tags.number(339, 1);
  if (format != 1)
    throw BadPicture{"is a TIFF of signed or floating-point numbers", "convert it to 8 or 16 bits a channel"};
  PictureDetails details;
  details.orientation = tags.orientation();
  const uint64_t bits = tags.number(258, 1);
  // libtiff hands 8-bit colours out already multiplied; 16-bit ones as they are stored.
  details.premultiplied = bits <= 8 || tags.number(338, 0) == 1;
  return details;
}

// ---- WebP: RIFF of chunks "VP8 ", "VP8L" or "VP8X" (extended: alpha, EXIF, animation)

PictureSize webp_size(ByteView file) {
  PictureSize size{PictureFormat::webp};
  if (file.has(12, "VP8X")) {
    size.width = static_cast<int64_t>(file.little(24, 3)) + 1;
    size.height = static_cast<int64_t>(file.little(27, 3)) + 1;
  } else if (file.has(12, "VP8L")) {
    const uint64_t bits = file.little(21, 4);
    size.width = static_cast<int64_t>(bits & 0x3FFF) + 1;
    size.height = static_cast<int64_t>(bits >> 14 & 0x3FFF) + 1;
  } else if (file.has(12, "VP8 ")) {
    size.width = static_cast<int64_t>(file.little(26, 2) & 0x3FFF);
    size.height = static_cast<int64_t>(file.little(28, 2) & 0x3FFF);
  } else {
    throw BadPicture{"is a damaged WebP", kSaveAgain};
  }
  return size;
}

PictureDetails webp_details(ByteView file) {
  if (file.little(4, 4) + 8 > file.size()) fail_truncated("the WebP is shorter than its header says");
  if (file.has(12, "VP8X") && (file.little(20, 1) & 2) != 0) {
    throw BadPicture{"is an animated WebP", "save one picture of it as PNG or JPEG"};
  }
  PictureDetails details;
  for (size_t offset = 12; offset + 8 <= file.size();) {
    const size_t length = file.little(offset + 4, 4);
    if (length > file.size() - offset - 8) break;
    if (file.has(offset, "EXIF")) details.orientation = exif_orientation(file.part(offset + 8, length));
    offset += 8 + length + length % 2;
  }
  return details;
}

PictureDetails png_details(ByteView file) {
  PictureDetails details;
  int colour_type = 0;
  bool has_pixels = false;
  walk_png(file, [&](const PngChunk& chunk) {
    if (chunk.is("IHDR") && chunk.data.size() >= 13) {
      details.bit_depth = chunk.data.data()[8];
      colour_type = chunk.data.data()[9];
    } else if (chunk.is("eXIf")) {
      details.orientation = exif_orientation(chunk.data);
    } else if (chunk.is("IDAT")) {
      has_pixels = true;
    } else if (chunk.is("tRNS") && colour_type == 0 && chunk.data.size() >= 2) {
      details.gray_transparent = static_cast<int>(chunk.data.big(0, 2));
    }
  });
  if (!has_pixels) throw BadPicture{"is a damaged PNG (it has no pixels)", kCopyAgain};
  return details;
}

}  // namespace

void fail_truncated(const std::string& reason) {
  throw BadPicture{"is truncated (" + reason + ")", kCopyAgain};
}

const char* format_name(PictureFormat format) {
  switch (format) {
    case PictureFormat::jpeg:
      return "JPEG";
    case PictureFormat::png:
      return "PNG";
    case PictureFormat::bmp:
      return "BMP";
    case PictureFormat::tiff:
      return "TIFF";
    case PictureFormat::webp:
      return "WebP";
  }
  return "";
}

PictureSize probe_size(ByteView file) {
  PictureSize size;
  size.format = sniff(file);
  switch (size.format) {
    case PictureFormat::jpeg: {
      const JpegWalk walk = walk_jpeg(file, true);
      size.width = walk.width;
      size.height = walk.height;
      break;
    }
    case PictureFormat::png:
      if (!file.has(12, "IHDR"))
        throw BadPicture{"is a damaged PNG (it does not start with its header)", kCopyAgain};
      size.width = static_cast<int64_t>(file.big(16, 4));
      size.height = static_cast<int64_t>(file.big(20, 4));
      break;
    case PictureFormat::bmp:
      size = bmp_size(file);
      break;
    case PictureFormat::tiff:
      size = tiff_size(file);
      break;
    case PictureFormat::webp:
      size = webp_size(file);
      break;
  }
  if (size.width < 1 || size.height < 1) {
    throw BadPicture{
        "has no pixels (" + std::to_string(size.width) + " x " + std::to_string(size.height) + ")",
        kSaveAgain};
  }
  return size;
}

PictureDetails probe_details(ByteView file, const PictureSize& size) {
  PictureDetails details;
  switch (size.format) {
    case PictureFormat::jpeg:
      details.orientation = walk_jpeg(file, false).orientation;
      break;
    case PictureFormat::png:
      return png_details(file);
    case PictureFormat::bmp:
      check_bmp(file, size);
      break;
    case PictureFormat::tiff:
      return tiff_details(file);
    case PictureFormat::webp:
      return webp_details(file);
  }
  return details;
}

}  // namespace gaze::models::detail
