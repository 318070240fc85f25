// The chunks of a PNG file. Includes no torch and no OpenCV.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "models/image/byte_view.h"

namespace gaze::models::detail {

struct PngChunk {
  ByteView data;   // the payload
  ByteView whole;  // with length, type and checksum
  bool is(std::string_view type) const { return whole.has(4, type); }
};

// Calls `visit` on every chunk up to and including IEND. Throws BadPicture if IEND does not come (truncated)
// or a checksum of a chunk that pixels depend on is wrong (damaged).
void walk_png(ByteView file, const std::function<void(const PngChunk&)>& visit);

// The file without the chunks that only decorate it (profiles, texts, times): libpng prints remarks on them.
std::vector<uint8_t> essential_png(ByteView file);

}  // namespace gaze::models::detail
