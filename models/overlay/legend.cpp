#include "models/overlay/legend.h"

#include <algorithm>
#include <cstdio>

namespace gaze::models {
namespace detail {
namespace {

constexpr int64_t kBarLengths = 12;  // of the bar itself, in heights of a capital letter
constexpr Colour kQuiet = {110, 110, 110};

std::string number_text(double value, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

std::string low_text(const Legend& legend) {
  if (legend.scale != Scale::lift) return number_text(legend.range.low, "%.3g");
  return legend.range.low == 1 ? "1 = uniform" : number_text(legend.range.low, "%.1fx");
}

std::string high_text(const Legend& legend) {
  return number_text(legend.range.high, legend.scale == Scale::lift ? "%.1fx" : "%.3g");
}

int64_t bar_width(const Legend& legend, const TextStyle& style) {
  return text_width(low_text(legend), style) + text_width(high_text(legend), style) +
         (kBarLengths + 2) * style.height;
}

void draw_bar(Image& picture, int64_t x, int64_t baseline, const Legend& legend, const TextStyle& style) {
  TextStyle quiet = style;
  quiet.colour = kQuiet;
  quiet.bold = false;
  draw_text(picture, x, baseline, low_text(legend), quiet);
  x += text_width(low_text(legend), quiet) + style.height;
  const int64_t length = kBarLengths * style.height;
  const std::array<Colour, 256>& table = colours(legend.colormap);
  for (int64_t i = 0; i < length; ++i) {
    const Colour& colour = table[static_cast<size_t>(i * 255 / std::max<int64_t>(length - 1, 1))];
    fill_rectangle(picture, x + i, baseline - style.height, 1, style.height, colour);
  }
  draw_text(picture, x + length + style.height, baseline, high_text(legend), quiet);
}

}  // namespace detail

Image with_legend(const Image& drawn, const Legend& legend) {
  using namespace detail;
  TextStyle style;
  style.height = std::clamp<int64_t>(drawn.width / 72, 11, 40);
  TextStyle title = style;
  title.bold = true;
  TextStyle quiet = style;
  quiet.colour = kQuiet;

  const int64_t gap = style.height;
  const int64_t title_width = text_width(legend.title, title);
  const int64_t text = title_width + (legend.detail.empty() ? 0 : gap + text_width(legend.detail, quiet));
  const int64_t bar = legend.bar ? bar_width(legend, style) : 0;
  const bool two_lines = legend.bar && text + bar + 4 * gap > drawn.width;
  const int64_t line = line_height(style) + gap / 2;
  const int64_t width = std::max(drawn.width, std::max(text, bar) + 2 * gap);
  Image result = blank_picture(width, drawn.height + (two_lines ? 2 : 1) * line + gap, {255, 255, 255});
  paste(result, drawn, 0, 0);

  int64_t baseline = drawn.height + gap / 2 + (line + style.height) / 2;
  draw_text(result, gap, baseline, legend.title, title);
  draw_text(result, 2 * gap + title_width, baseline, legend.detail, quiet);
  if (two_lines) baseline += line;
  if (legend.bar) draw_bar(result, two_lines ? gap : width - bar - gap, baseline, legend, style);
  return result;
}

}  // namespace gaze::models
