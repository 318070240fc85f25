#include <algorithm>
#include <cmath>

#include "models/image/resize_window.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int kFractionBits =
    32 - 8 - 2;  // weights are integers in units of 2^-22, as PIL has them for 8-bit pictures

double sinc(double x) {
  return x == 0.0 ? 1.0 : std::sin(kPi * x) / (kPi * x);
}

double support_of(Filter filter) {
  switch (filter) {
    case Filter::bilinear:
      return 1.0;
    case Filter::bicubic:
      return 2.0;
    case Filter::lanczos:
      return 3.0;
    default:
      return 0.0;
  }
}

double weight_at(Filter filter, double x) {
  x = std::abs(x);
  switch (filter) {
    case Filter::bilinear:
      return x < 1.0 ? 1.0 - x : 0.0;
    case Filter::bicubic: {
      constexpr double a = -0.5;
      if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
      if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
      return 0.0;
    }
    case Filter::lanczos:
      return x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
    default:
      return 0.0;
  }
}

// Which input samples an output sample is made of, and their weights.
struct Taps {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

// A stretch of output samples: of `out` made from `in`, those from `first` on, `count` many.
struct Stretch {
  int64_t in, out, first, count;
};

// The filter is widened by the scale when shrinking: this is what antialiasing is.
std::vector<Taps> taps(const Stretch& stretch, Filter filter) {
  const double scale = static_cast<double>(stretch.in) / static_cast<double>(stretch.out);
  const double widening = std::max(scale, 1.0);
  const double support = support_of(filter) * widening;
  const double narrowing = 1.0 / widening;
  std::vector<Taps> result(static_cast<size_t>(stretch.count));
  std::vector<double> weights;
  for (int64_t i = 0; i < stretch.count; ++i) {
    const double centre = (static_cast<double>(stretch.first + i) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(centre - support + 0.5), 0);
    const int64_t end = std::min<int64_t>(static_cast<int64_t>(centre + support + 0.5), stretch.in);
    weights.clear();
    double sum = 0.0;
    for (int64_t k = first; k < end; ++k) {
      weights.push_back(weight_at(filter, (static_cast<double>(k) - centre + 0.5) * narrowing));
      sum += weights.back();
    }
    Taps& tap = result[static_cast<size_t>(i)];
    tap.first = first;
    for (const double weight : weights) {
      const double units = (sum != 0.0 ? weight / sum : weight) * (1 << kFractionBits);
      tap.weights.push_back(static_cast<int32_t>(units < 0 ? units - 0.5 : units + 0.5));
    }
  }
  return result;
}

uint8_t to_pixel(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

Image blank(int64_t width, int64_t height) {
  Image image;
  image.width = width;
  image.height = height;
  image.rgb.resize(static_cast<size_t>(width * height * 3));
  return image;
}

constexpr int32_t kHalf = 1 << (kFractionBits - 1);

// Along rows [first_row, end_row): `columns` says which input columns each output column is made of.
Image resize_rows(const Image& image, const std::vector<Taps>& columns, int64_t first_row, int64_t end_row) {
  Image result = blank(static_cast<int64_t>(columns.size()), end_row - first_row);
  uint8_t* out = result.rgb.data();
  for (int64_t y = first_row; y < end_row; ++y) {
    const uint8_t* row = image.rgb.data() + y * image.width * 3;
    for (const Taps& tap : columns) {
      const uint8_t* in = row + tap.first * 3;
      int32_t red = kHalf, green = kHalf, blue = kHalf;
      for (const int32_t weight : tap.weights) {
        red += weight * in[0];
        green += weight * in[1];
        blue += weight * in[2];
        in += 3;
      }
      *out++ = to_pixel(red);
      *out++ = to_pixel(green);
      *out++ = to_pixel(blue);
    }
  }
  return result;
}

// Along the columns: `rows` says which rows each output row is made of; row 0 of `image` is `first_row`.
Image resize_columns(const Image& image, const std::vector<Taps>& rows, int64_t first_row) {
  const int64_t row_bytes = image.width * 3;
  Image result = blank(image.width, static_cast<int64_t>(rows.size()));
  std::vector<int32_t> sums(static_cast<size_t>(row_bytes));
  auto out = result.rgb.begin();
  for (const Taps& tap : rows) {
    std::fill(sums.begin(), sums.end(), kHalf);
    const uint8_t* in = image.rgb.data() + (tap.first - first_row) * row_bytes;
    for (const int32_t weight : tap.weights) {
      for (int64_t i = 0; i < row_bytes; ++i) sums[static_cast<size_t>(i)] += weight * in[i];
      in += row_bytes;
    }
    out = std::transform(sums.begin(), sums.end(), out, to_pixel);
  }
  return result;
}

// For each output sample the input sample under its centre; steps are summed up, as PIL does.
std::vector<int64_t> nearest_samples(const Stretch& stretch) {
  const double step = static_cast<double>(stretch.in) / static_cast<double>(stretch.out);
  std::vector<int64_t> samples;
  double place = step * 0.5;
  for (int64_t i = 0; i < stretch.first + stretch.count; ++i, place += step) {
    if (i >= stretch.first) samples.push_back(std::min<int64_t>(static_cast<int64_t>(place), stretch.in - 1));
  }
  return samples;
}

Image pick_nearest(const Image& image, const Stretch& columns, const Stretch& rows) {
  const std::vector<int64_t> from_x = nearest_samples(columns);
  Image result = blank(columns.count, rows.count);
  uint8_t* out = result.rgb.data();
  for (const int64_t y : nearest_samples(rows)) {
    for (const int64_t x : from_x) out = std::copy_n(image.rgb.data() + (y * image.width + x) * 3, 3, out);
  }
  return result;
}

}  // namespace

Image detail::resize_window(const Image& image, int64_t width, int64_t height, Filter filter,
                            const Window& window) {
  const Stretch columns = {image.width, width, window.left, window.width};
  const Stretch rows = {image.height, height, window.top, window.height};
  check_that(image.width >= 1 && image.height >= 1, "resize", "a picture of at least 1 x 1",
             std::to_string(image.width) + " x " + std::to_string(image.height));
  const bool same_size = width == image.width && height == image.height;
  if (same_size || filter == Filter::nearest) return pick_nearest(image, columns, rows);
  const std::vector<Taps> column_taps = taps(columns, filter);
  const std::vector<Taps> row_taps = taps(rows, filter);
  // The first pass is rounded to 8 bits, so the order shows. This is the order of Pillow 13; earlier ones
  // always took the rows first.
  const bool columns_first = height < image.height && image.height - height > 2 * (image.width - width);
  if (columns_first) {
    return resize_rows(resize_columns(image, row_taps, 0), column_taps, 0, window.height);
  }
  const int64_t first_row = row_taps.front().first;
  const int64_t end_row = row_taps.back().first + static_cast<int64_t>(row_taps.back().weights.size());
  return resize_columns(resize_rows(image, column_taps, first_row, end_row), row_taps, first_row);
}

Image resize(const Image& image, int64_t width, int64_t height, Filter filter) {
  check_that(width >= 1 && height >= 1, "resize", "a new size of at least 1 x 1",
             std::to_string(width) + " x " + std::to_string(height));
  return detail::resize_window(image, width, height, filter, {0, 0, width, height});
}

}  // namespace gaze::models
