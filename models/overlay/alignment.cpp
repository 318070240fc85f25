#include "models/overlay/alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "modules/core/check.h"
#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "alignment";
constexpr int kMargin = 12, kFont = 15, kBar = 12;

// XML 1.0 has no control characters, no U+FFFE and U+FFFF, and no bytes that are not UTF-8.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const std::string_view character : characters(text)) {
    const char32_t code = code_point(character);
    switch (code) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        if (code < 0x20) {
          safe += ' ';
        } else if (code == 0xFFFE || code == 0xFFFF) {
          safe += utf8_text(0xFFFD);
        } else {
          safe += utf8_text(code);
        }
    }
  }
  return safe;
}

// Roughly, in pixels: wide characters (Chinese, Japanese, Korean; three bytes and more in UTF-8) are as wide
// as they are high, others about 0.6 of it.
int width_of(const std::string& text) {
  double width = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 || (byte >= 0xC0 && byte < 0xE0)) width += 0.6;
    if (byte >= 0xE0) width += 1;
  }
  return static_cast<int>(std::ceil(width * kFont));
}

int widest(const std::vector<std::string>& texts) {
  int width = 0;
  for (const std::string& text : texts) width = std::max(width, width_of(text));
  return width;
}

std::string hex(double weight, Colormap map) {
  const auto& [r, g, b] = colours(map)[static_cast<size_t>(std::lround(weight * 255))];
  return fmt::format("#{:02x}{:02x}{:02x}", r, g, b);
}

void check(const Alignment& alignment) {
  const size_t T = alignment.target.size(), S = alignment.source.size();
  check_that(alignment.weights.size() == T, kOp, fmt::format("weights of T={} target tokens", T),
             fmt::format("{} rows", alignment.weights.size()));
  for (const auto& row : alignment.weights) {
    check_that(row.size() == S, kOp, fmt::format("weights of S={} source tokens", S),
               fmt::format("a row of {}", row.size()));
    for (const double weight : row)
      check_that(weight >= 0 && weight <= 1 + 1e-6, kOp, "weights in [0, 1]", fmt::format("{}", weight));
  }
}

std::string label(int x, int y, const char* anchor, const std::string& text, bool turned) {
  const std::string turn = turned ? fmt::format(" transform=\"rotate(-60 {} {})\"", x, y) : "";
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, turn,
                     escaped(text));
}

}  // namespace

std::string alignment_svg(const Alignment& alignment, const AlignmentOptions& options) {
  check(alignment);
  const int S = static_cast<int>(alignment.source.size()), T = static_cast<int>(alignment.target.size());
  const int cell = options.cell, longest = widest(alignment.source);
  const bool turned = longest > cell;
  const int left = kMargin + widest(alignment.target) + 8;
  const int above = turned ? static_cast<int>(longest * 0.87) + kFont : kFont;
  const int top = kMargin + above + 6;
  const int bar_width = std::max(120, S * cell), right_of_cells = turned ? longest / 2 : 0;
  const int width = left + std::max(S * cell + right_of_cells, bar_width) + kMargin;
  const int bar_top = top + T * cell + 16, height = bar_top + kBar + kFont + 8 + kMargin;

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"{2}\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n",
      width, height, kFont);
  for (int s = 0; s < S; ++s) {
    const int x = left + s * cell + cell / 2;
    svg += label(x, top - 6, turned ? "start" : "middle", alignment.source[static_cast<size_t>(s)], turned);
  }
  for (int t = 0; t < T; ++t) {
    const std::string& target = alignment.target[static_cast<size_t>(t)];
    svg += label(left - 8, top + t * cell + cell / 2 + kFont / 3, "end", target, false);
    for (int s = 0; s < S; ++s) {
      const double weight = std::min(1.0, alignment.weights[static_cast<size_t>(t)][static_cast<size_t>(s)]);
      svg += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>{} - {}: {:.1f} "
          "%</title></rect>\n",
          left + s * cell, top + t * cell, cell - 1, cell - 1, hex(weight, options.colormap),
          escaped(alignment.source[static_cast<size_t>(s)]), escaped(target), 100 * weight);
    }
  }
  constexpr int kSteps = 24;
  for (int i = 0; i < kSteps; ++i) {
    const double from = left + static_cast<double>(bar_width) * i / kSteps;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>\n", from,
                       bar_top, static_cast<double>(bar_width) / kSteps + 0.5, kBar,
                       hex((i + 0.5) / kSteps, options.colormap));
  }
  svg += label(left, bar_top + kBar + kFont, "start", "0 %", false);
  svg += label(left + bar_width, bar_top + kBar + kFont, "end", "100 %", false);
  return svg + "</svg>\n";
}

}  // namespace gaze::models
