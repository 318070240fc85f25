// Text on pictures. Includes no torch and no OpenCV.
#pragma once

#include <cstdint>
#include <string>

#include "models/image/image.h"
#include "models/overlay/colormap.h"

namespace gaze::models::detail {

struct TextStyle {
  int64_t height = 14;  // of a capital letter, in pixels
  bool bold = false;
  Colour colour = {34, 34, 34};
};

// The font has ASCII only: accents are dropped, other scripts' letters become "?", one each.
std::string to_ascii(const std::string& utf8);

int64_t text_width(const std::string& text, const TextStyle& style);

// Height of a line that leaves room for what hangs below the baseline.
int64_t line_height(const TextStyle& style);

// `x` is the left edge, `baseline` the row the letters stand on. What would leave the picture is cut.
void draw_text(Image& picture, int64_t x, int64_t baseline, const std::string& text, const TextStyle& style);

// `text` cut at its end with "..." so that it is at most `width` wide.
std::string shortened(const std::string& text, const TextStyle& style, int64_t width);

// A picture of one colour.
Image blank_picture(int64_t width, int64_t height, const Colour& colour);
void fill_rectangle(Image& picture, int64_t x, int64_t y, int64_t width, int64_t height,
                    const Colour& colour);
// Copies `part` so that its corner comes to (x, y); it must fit.
void paste(Image& picture, const Image& part, int64_t x, int64_t y);

}  // namespace gaze::models::detail
