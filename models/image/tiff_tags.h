// The tags of a TIFF structure, which is also what EXIF data is. Includes no torch and no OpenCV.
#pragma once

#include <cstdint>
#include <vector>

#include "models/image/byte_view.h"

namespace gaze::models::detail {

// Tags of the first folder (IFD) of classic TIFF or BigTIFF.
class TiffTags {
 public:
  // Throws BadPicture if `bytes` does not start with a TIFF header or the folder leaves the file.
  explicit TiffTags(ByteView bytes);

  // The unsigned integers of a tag; empty if the tag is absent or holds something else.
  std::vector<uint64_t> numbers(uint16_t tag) const;
  uint64_t number(uint16_t tag, uint64_t otherwise) const;

  // Tag 274 if it is 1..8, else 1.
  int orientation() const;

 private:
  ByteView bytes_;
  Endian endian_ = Endian::little;
  bool large_ = false;  // BigTIFF: counts and offsets have 8 bytes
  size_t first_entry_ = 0;
  uint64_t entries_ = 0;
};

// Orientation of an EXIF block (with or without its leading "Exif\0\0"); 1 where it is damaged.
int exif_orientation(ByteView exif);

}  // namespace gaze::models::detail
