#include <algorithm>
#include <cmath>
#include <cstdio>

#include "models/image/preprocess.h"
#include "models/overlay/label.h"
#include "models/overlay/legend.h"
#include "models/overlay/overlay.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

using detail::TextStyle;

constexpr Colour kWhite = {255, 255, 255};
constexpr Colour kQuiet = {110, 110, 110};
constexpr int64_t kMargin = 20, kGap = 14;

const TextStyle kCaption = {18, true};
const TextStyle kWord = {14, true};
const TextStyle kDetail = {11, false, kQuiet};

struct Tile {
  std::string word, detail;
  Image picture;
};

// The same geometry on a copy of the picture of another size.
Geometry resized(const Geometry& geometry, int64_t width, int64_t height) {
  const double sx = static_cast<double>(width) / static_cast<double>(geometry.width);
  const double sy = static_cast<double>(height) / static_cast<double>(geometry.height);
  Geometry result = geometry;
  result.width = width;
  result.height = height;
  result.input_to_image = Affine{sx, 0, 0, 0, sy, 0}.after(geometry.input_to_image);
  result.seen = {geometry.seen.x * sx, geometry.seen.y * sy, geometry.seen.width * sx,
                 geometry.seen.height * sy};
  return result;
}

Image small_copy(const Image& picture, int64_t tile) {
  const double scale =
      static_cast<double>(tile) / static_cast<double>(std::max(picture.width, picture.height));
  const auto side = [&](int64_t s) {
    return std::max<int64_t>(1, std::llround(static_cast<double>(s) * scale));
  };
  return resize(picture, side(picture.width), side(picture.height), Filter::bicubic);
}

std::string detail_text(const StripWord& word, const MapSummary& summary) {
  char text[64];
  if (summary.state == MapState::normal && std::isfinite(summary.peak_lift)) {
    std::snprintf(text, sizeof text, "%.0f %%   peak %.1fx", 100 * word.probability, summary.peak_lift);
  } else {
    std::snprintf(text, sizeof text, "%.0f %%", 100 * word.probability);
  }
  return text;
}

std::vector<std::string> wrapped(const std::string& text, const TextStyle& style, int64_t width) {
  std::vector<std::string> lines(1);
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const std::string longer = lines.back().empty() ? word : lines.back() + " " + word;
    if (detail::text_width(longer, style) <= width || lines.back().empty()) {
      lines.back() = longer;
    } else {
      lines.push_back(word);
    }
    begin = end + 1;
  }
  for (std::string& line : lines) line = detail::shortened(line, style, width);
  return lines;
}

std::vector<Tile> make_tiles(const Image& picture, const Geometry& geometry,
                             const std::vector<StripWord>& words, const StripOptions& options,
                             const DrawOptions& draw) {
  const Image copy = small_copy(picture, options.tile);
  const Geometry small = resized(geometry, copy.width, copy.height);
  std::vector<Tile> tiles = {{"", "the picture", copy}};
  for (const StripWord& word : words) {
    tiles.push_back(
        {word.text, detail_text(word, summarise(word.grid)), draw_map(copy, small, word.grid, draw)});
  }
  return tiles;
}

// As few rows as `most` columns allow, filled as evenly as possible.
int64_t column_count(int64_t tiles, int64_t most) {
  const int64_t rows = (tiles + most - 1) / most;
  return (tiles + rows - 1) / rows;
}

}  // namespace

Image draw_strip(const Image& picture, const Geometry& geometry, const std::string& caption,
                 const std::vector<StripWord>& words, const StripOptions& options) {
  check_that(options.tile >= 16 && options.max_columns >= 1, "draw_strip",
             "tiles of at least 16 pixels, at least one a row",
             std::to_string(options.tile) + " pixels, " + std::to_string(options.max_columns) + " a row");
  check_that(picture.width == geometry.width && picture.height == geometry.height, "draw_strip",
             "the picture of the geometry, " + std::to_string(geometry.width) + " x " +
                 std::to_string(geometry.height),
             std::to_string(picture.width) + " x " + std::to_string(picture.height));
  DrawOptions draw = options.draw;
  if (!draw.range) {
    std::vector<Grid> grids;
    for (const StripWord& word : words) grids.push_back(word.grid);
    draw.range = range_of(grids, draw.scale);
  }
  Legend legend;
  legend.range = *draw.range;
  legend.scale = draw.scale;
  legend.colormap = draw.colormap;

  const std::vector<Tile> tiles = make_tiles(picture, geometry, words, options, draw);
  int64_t cell_width = std::max<int64_t>(tiles[0].picture.width, 120);
  for (const Tile& tile : tiles) {
    const int64_t text =
        std::max(detail::text_width(tile.word, kWord), detail::text_width(tile.detail, kDetail));
    cell_width = std::max(cell_width, std::min(text, options.tile));
  }
  const int64_t text_height = 8 + detail::line_height(kWord) + detail::line_height(kDetail);
  const int64_t cell_height = tiles[0].picture.height + text_height;
  const auto count = static_cast<int64_t>(tiles.size());
  const int64_t columns = column_count(count, options.max_columns), rows = (count + columns - 1) / columns;
  const int64_t bar = detail::bar_width(legend, kDetail);
  const int64_t inner = std::max(columns * cell_width + (columns - 1) * kGap, bar);
  const std::vector<std::string> lines = wrapped(caption, kCaption, inner);
  const int64_t caption_height = static_cast<int64_t>(lines.size()) * detail::line_height(kCaption);

  Image strip = detail::blank_picture(
      inner + 2 * kMargin,
      2 * kMargin + caption_height + kGap + rows * (cell_height + kGap) + 2 * kDetail.height, kWhite);
  int64_t y = kMargin;
  for (const std::string& line : lines) {
    detail::draw_text(strip, kMargin, y + kCaption.height, line, kCaption);
    y += detail::line_height(kCaption);
  }
  y += kGap;
  for (int64_t i = 0; i < count; ++i) {
    const Tile& tile = tiles[static_cast<size_t>(i)];
    const int64_t left = kMargin + i % columns * (cell_width + kGap);
    const int64_t top = y + i / columns * (cell_height + kGap);
    detail::paste(strip, tile.picture, left, top);
    int64_t baseline = top + tile.picture.height + 8 + kWord.height;
    if (!tile.word.empty()) {
      detail::draw_text(strip, left, baseline, detail::shortened(tile.word, kWord, cell_width), kWord);
      baseline += detail::line_height(kWord) - kWord.height + kDetail.height;
    }
    detail::draw_text(strip, left, baseline, detail::shortened(tile.detail, kDetail, cell_width), kDetail);
  }
  if (!words.empty()) {
    detail::draw_bar(strip, kMargin + inner - bar, strip.height - kMargin, legend, kDetail);
  }
  return strip;
}

}  // namespace gaze::models
