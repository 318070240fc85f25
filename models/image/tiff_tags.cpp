#include "models/image/tiff_tags.h"

namespace gaze::models::detail {
namespace {

constexpr uint16_t kOrientation = 274;

size_t bytes_of_type(uint64_t type) {
  switch (type) {
    case 1:
      return 1;  // BYTE
    case 3:
      return 2;  // SHORT
    case 4:
      return 4;  // LONG
    case 13:
      return 4;  // IFD
    case 16:
      return 8;  // LONG8
    default:
      return 0;
  }
}

}  // namespace

TiffTags::TiffTags(ByteView bytes) : bytes_(bytes) {
  if (bytes.has(0, "MM")) {
    endian_ = Endian::big;
  } else if (!bytes.has(0, "II")) {
    throw BadPicture{"has a damaged TIFF header", "save the picture again"};
  }
  const uint64_t version = bytes_.number(2, 2, endian_);
  if (version != 42 && version != 43) throw BadPicture{"has a damaged TIFF header", "save the picture again"};
  large_ = version == 43;
  const size_t folder = large_ ? bytes_.number(8, 8, endian_) : bytes_.number(4, 4, endian_);
  entries_ = bytes_.number(folder, large_ ? 8 : 2, endian_);
  first_entry_ = folder + (large_ ? 8 : 2);
  const size_t entry_size = large_ ? 20 : 12;
  if (entries_ > bytes_.from(first_entry_).size() / entry_size) fail_truncated("its TIFF folder ends early");
}

std::vector<uint64_t> TiffTags::numbers(uint16_t tag) const {
  const size_t entry_size = large_ ? 20 : 12;
  const size_t inline_size = large_ ? 8 : 4;
  for (uint64_t i = 0; i < entries_; ++i) {
    const size_t entry = first_entry_ + i * entry_size;
    if (bytes_.number(entry, 2, endian_) != tag) continue;
    const size_t width = bytes_of_type(bytes_.number(entry + 2, 2, endian_));
    const uint64_t count = bytes_.number(entry + 4, inline_size, endian_);
    if (width == 0 || count == 0) return {};
    size_t values = entry + 4 + inline_size;
    if (count > inline_size / width) values = bytes_.number(values, inline_size, endian_);
    if (count > bytes_.from(values).size() / width) fail_truncated("a TIFF tag leaves the file");
    std::vector<uint64_t> result(count);
    for (uint64_t k = 0; k < count; ++k) result[k] = bytes_.number(values + k * width, width, endian_);
    return result;
  }
  return {};
}

uint64_t TiffTags::number(uint16_t tag, uint64_t otherwise) const {
  const std::vector<uint64_t> values = numbers(tag);
  return values.empty() ? otherwise : values[0];
}

int TiffTags::orientation() const {
  const uint64_t value = number(kOrientation, 1);
  return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
}

int exif_orientation(ByteView exif) {
  try {
    return TiffTags(exif.has(0, std::string_view("Exif\0\0", 6)) ? exif.from(6) : exif).orientation();
  } catch (const BadPicture&) {
    return 1;
  }
}

}  // namespace gaze::models::detail
