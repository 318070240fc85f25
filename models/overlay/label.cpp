#include "models/overlay/label.h"

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

namespace gaze::models::detail {
namespace {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
constexpr double kCapital = 21.0;  // height of a capital letter at scale 1
constexpr int kSupersampling = 4;  // letters are drawn larger, then averaged, for smooth edges
constexpr double kThickness = 0.12, kBoldThickness = 0.2;  // of a capital's height
constexpr double kBlank = 0.45;                            // width of a blank, of a capital's height

// U+00C0 ... U+00FF without their accents.
constexpr const char* kLatin = "AAAAAAACEEEEIIIIDNOOOOOxOUUUUYTsaaaaaaaceeeeiiiidnooooo/ouuuuyty";

double scale_of(const TextStyle& style) {
  return static_cast<double>(style.height) * kSupersampling / kCapital;
}

int thickness_of(const TextStyle& style) {
  const double width =
      (style.bold ? kBoldThickness : kThickness) * static_cast<double>(style.height) * kSupersampling;
  return std::max(1, static_cast<int>(std::lround(width)));
}

// A word and where it stands, in supersampled pixels.
struct Word {
  std::string text;
  int64_t begin, end;
};

// The font's own blanks are as wide as letters, which tears sentences apart: words are placed one by one.
std::vector<Word> lay_out(const std::string& ascii, const TextStyle& style) {
  const auto blank = static_cast<int64_t>(kBlank * static_cast<double>(style.height * kSupersampling));
  std::vector<Word> words;
  int64_t at = 0;
  for (size_t i = 0; i < ascii.size();) {
    if (ascii[i] == ' ') {
      at += blank;
      ++i;
      continue;
    }
    const size_t end = std::min(ascii.find(' ', i), ascii.size());
    const std::string text = ascii.substr(i, end - i);
    int below = 0;
    const cv::Size size = cv::getTextSize(text, kFont, scale_of(style), thickness_of(style), &below);
    words.push_back({text, at, at + size.width});
    at += size.width;
    i = end;
  }
  return words;
}

}  // namespace

std::string to_ascii(const std::string& utf8) {
  std::string ascii;
  for (size_t i = 0; i < utf8.size();) {
    const auto byte = static_cast<uint8_t>(utf8[i]);
    if (byte < 0x80) {
      ascii.push_back(byte < 32 || byte == 127 ? ' ' : utf8[i]);
      ++i;
      continue;
    }
    const bool latin = byte == 0xC3 && i + 1 < utf8.size() && static_cast<uint8_t>(utf8[i + 1]) >> 6 == 2;
    ascii.push_back(latin ? kLatin[static_cast<uint8_t>(utf8[i + 1]) & 0x3F] : '?');
    do ++i;
    while (i < utf8.size() && static_cast<uint8_t>(utf8[i]) >> 6 == 2);
  }
  return ascii;
}

int64_t text_width(const std::string& text, const TextStyle& style) {
  const std::vector<Word> words = lay_out(to_ascii(text), style);
  return words.empty() ? 0 : (words.back().end + kSupersampling - 1) / kSupersampling;
}

int64_t line_height(const TextStyle& style) {
  return style.height + style.height * 9 / 10;
}

void draw_text(Image& picture, int64_t x, int64_t baseline, const std::string& text, const TextStyle& style) {
  const int64_t above = style.height + style.height / 2, below = style.height / 2 + 1;
  const int64_t width = text_width(text, style) + style.height, height = above + below;
  cv::Mat large(static_cast<int>(height * kSupersampling), static_cast<int>(width * kSupersampling), CV_8U,
                cv::Scalar(0));
  for (const Word& word : lay_out(to_ascii(text), style)) {
    cv::putText(large, word.text, {static_cast<int>(word.begin), static_cast<int>(above * kSupersampling)},
                kFont, scale_of(style), cv::Scalar(255), thickness_of(style), cv::LINE_AA);
  }
  cv::Mat ink;
  cv::resize(large, ink, {static_cast<int>(width), static_cast<int>(height)}, 0, 0, cv::INTER_AREA);
  for (int64_t row = 0; row < height; ++row) {
    const int64_t y = baseline - above + row;
    if (y < 0 || y >= picture.height) continue;
    for (int64_t col = 0; col < width; ++col) {
      const int64_t at = x + col;
      if (at < 0 || at >= picture.width) continue;
      const int share = ink.at<uint8_t>(static_cast<int>(row), static_cast<int>(col));
      uint8_t* pixel = picture.rgb.data() + (y * picture.width + at) * 3;
      for (size_t c = 0; c < 3; ++c) {
        pixel[c] = static_cast<uint8_t>((pixel[c] * (255 - share) + style.colour[c] * share + 127) / 255);
      }
    }
  }
}

std::string shortened(const std::string& text, const TextStyle& style, int64_t width) {
  std::string ascii = to_ascii(text);
  if (text_width(ascii, style) <= width) return ascii;
  while (!ascii.empty() && text_width(ascii + "...", style) > width) ascii.pop_back();
  return ascii.empty() ? "" : ascii + "...";
}

Image blank_picture(int64_t width, int64_t height, const Colour& colour) {
  Image picture;
  picture.width = width;
  picture.height = height;
  picture.rgb.resize(static_cast<size_t>(width * height * 3));
  fill_rectangle(picture, 0, 0, width, height, colour);
  return picture;
}

void fill_rectangle(Image& picture, int64_t x, int64_t y, int64_t width, int64_t height,
                    const Colour& colour) {
  for (int64_t row = std::max<int64_t>(y, 0); row < std::min(y + height, picture.height); ++row) {
    for (int64_t col = std::max<int64_t>(x, 0); col < std::min(x + width, picture.width); ++col) {
      std::copy(colour.begin(), colour.end(), picture.rgb.begin() + (row * picture.width + col) * 3);
    }
  }
}

void paste(Image& picture, const Image& part, int64_t x, int64_t y) {
  for (int64_t row = 0; row < part.height; ++row) {
    std::copy_n(part.rgb.begin() + row * part.width * 3, part.width * 3,
                picture.rgb.begin() + ((y + row) * picture.width + x) * 3);
  }
}

}  // namespace gaze::models::detail
