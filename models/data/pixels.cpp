#include "models/data/pixels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <opencv2/imgcodecs.hpp>

#include "models/image/png_chunks.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

constexpr int64_t kLongestSide = 384;
constexpr int kFaint = 8;  // alpha up to here counts as transparent when the box is found

uint8_t to_byte(double value) {
  return static_cast<uint8_t>(std::clamp(value + 0.5, 0.0, 255.0));
}

struct Share {
  int64_t index;
  double weight;
};

// For each of `to` cells, which of `from` cells it covers and by how much; the weights of a cell sum to 1.
std::vector<std::vector<Share>> shares(int64_t from, int64_t to) {
  std::vector<std::vector<Share>> result(static_cast<size_t>(to));
  const double step = static_cast<double>(from) / static_cast<double>(to);
  for (int64_t i = 0; i < to; ++i) {
    const double low = i * step, high = std::min<double>((i + 1) * step, from);
    for (int64_t j = static_cast<int64_t>(low); j < from && j < high; ++j) {
      const double overlap = std::min<double>(high, j + 1) - std::max<double>(low, j);
      if (overlap > 0) result[static_cast<size_t>(i)].push_back({j, overlap / (high - low)});
    }
  }
  return result;
}

template <int C>
std::vector<uint8_t> shrink_bytes(const std::vector<uint8_t>& from, int64_t w, int64_t h, int64_t new_w,
                                  int64_t new_h) {
  const auto across = shares(w, new_w), down = shares(h, new_h);
  std::vector<float> rows(static_cast<size_t>(new_w * h * C));
  for (int64_t y = 0; y < h; ++y) {
    for (int64_t x = 0; x < new_w; ++x) {
      double sum[C] = {};
      for (const Share& share : across[static_cast<size_t>(x)]) {
        const uint8_t* pixel = from.data() + (y * w + share.index) * C;
        for (int c = 0; c < C; ++c) sum[c] += share.weight * pixel[c];
      }
      for (int c = 0; c < C; ++c)
        rows[static_cast<size_t>((y * new_w + x) * C + c)] = static_cast<float>(sum[c]);
    }
  }
  std::vector<uint8_t> result(static_cast<size_t>(new_w * new_h * C));
  for (int64_t y = 0; y < new_h; ++y) {
    for (int64_t x = 0; x < new_w * C; ++x) {
      double sum = 0;
      for (const Share& share : down[static_cast<size_t>(y)]) {
        sum += share.weight * rows[static_cast<size_t>(share.index * new_w * C + x)];
      }
      result[static_cast<size_t>(y * new_w * C + x)] = to_byte(sum);
    }
  }
  return result;
}

Raster shrink_raster(const Raster& from, int64_t width, int64_t height) {
  return {width, height, shrink_bytes<4>(from.rgba, from.width, from.height, width, height)};
}

// Empty where the file is not a whole PNG.
cv::Mat decode_png(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (bytes.empty() || !detail::ByteView(bytes.data(), bytes.size()).has(1, "PNG")) return {};
  try {
    return cv::imdecode(detail::essential_png({bytes.data(), bytes.size()}), cv::IMREAD_UNCHANGED);
  } catch (const detail::BadPicture&) {
    return {};
  }
}

// Any picture OpenCV decodes -> premultiplied RGBA.
Raster premultiplied(const cv::Mat& decoded) {
  const int channels = decoded.channels();
  Raster raster{decoded.cols, decoded.rows, std::vector<uint8_t>(4 * decoded.total())};
  for (int y = 0; y < decoded.rows; ++y) {
    for (int x = 0; x < decoded.cols; ++x) {
      const uint8_t* in = decoded.ptr<uint8_t>(y) + x * channels;
      uint8_t* out = raster.at(x, y);
      const int alpha = channels == 4 ? in[3] : 255;
      for (int c = 0; c < 3; ++c) {
        const int value = channels >= 3 ? in[2 - c] : in[0];  // BGR -> RGB
        out[c] = static_cast<uint8_t>((value * alpha + 127) / 255);
      }
      out[3] = static_cast<uint8_t>(alpha);
    }
  }
  return raster;
}

Raster crop_to_alpha(const Raster& from) {
  int64_t left = from.width, right = -1, top = from.height, bottom = -1;
  for (int64_t y = 0; y < from.height; ++y) {
    for (int64_t x = 0; x < from.width; ++x) {
      if (from.at(x, y)[3] <= kFaint) continue;
      left = std::min(left, x), right = std::max(right, x);
      top = std::min(top, y), bottom = std::max(bottom, y);
    }
  }
  Raster raster;
  if (right < left) return raster;
  raster.width = right - left + 1;
  raster.height = bottom - top + 1;
  for (int64_t y = top; y <= bottom; ++y) {
    raster.rgba.insert(raster.rgba.end(), from.at(left, y), from.at(left, y) + 4 * raster.width);
  }
  return raster;
}

// Sum over a window of 2 * radius + 1 along one axis, divided by its size; outside is 0.
void box_blur(std::vector<uint8_t>& plane, int64_t count, int64_t length, int64_t step, int64_t stride,
              int64_t radius) {
  std::vector<uint8_t> line(static_cast<size_t>(length));
  const int64_t window = 2 * radius + 1;
  for (int64_t i = 0; i < count; ++i) {
    uint8_t* data = plane.data() + i * stride;
    for (int64_t j = 0; j < length; ++j) line[static_cast<size_t>(j)] = data[j * step];
    int64_t sum = 0;
    for (int64_t j = 0; j < std::min(radius, length); ++j) sum += line[static_cast<size_t>(j)];
    for (int64_t j = 0; j < length; ++j) {
      if (j + radius < length) sum += line[static_cast<size_t>(j + radius)];
      if (j - radius - 1 >= 0) sum -= line[static_cast<size_t>(j - radius - 1)];
      data[j * step] = static_cast<uint8_t>(sum / window);
    }
  }
}

// A table of what light makes of each value.
std::array<std::array<uint8_t, 256>, 3> light_table(const Light& light) {
  std::array<std::array<uint8_t, 256>, 3> table{};
  for (size_t c = 0; c < 3; ++c) {
    for (int v = 0; v < 256; ++v)
      table[c][static_cast<size_t>(v)] = to_byte(((v - 128) * light.contrast + 128) * light.gain[c]);
  }
  return table;
}

}  // namespace

Cutout load_cutout(const std::filesystem::path& path) {
  const cv::Mat decoded = decode_png(path);
  if (decoded.empty() || decoded.depth() != CV_8U) {
    throw FileError(path.string(), "not a PNG of 8 bits a channel",
                    "install the package tuxpaint-stamps-default again");
  }
  Raster raster = crop_to_alpha(premultiplied(decoded));
  if (raster.rgba.empty())
    throw FileError(path.string(), "nothing on it is visible", "leave it out of the table of stamps");
  const int64_t side = std::max(raster.width, raster.height);
  if (side > kLongestSide) {
    raster = shrink_raster(raster, std::max<int64_t>(1, raster.width * kLongestSide / side),
                           std::max<int64_t>(1, raster.height * kLongestSide / side));
  }
  Cutout cutout;
  int64_t opaque = 0;
  for (size_t i = 3; i < raster.rgba.size(); i += 4) opaque += raster.rgba[i] >= 128;
  cutout.coverage = static_cast<double>(opaque) / static_cast<double>(raster.width * raster.height);
  cutout.levels.push_back(std::move(raster));
  while (std::min(cutout.levels.back().width, cutout.levels.back().height) >= 8) {
    const Raster& last = cutout.levels.back();
    Raster half = shrink_raster(last, last.width / 2, last.height / 2);
    cutout.levels.push_back(std::move(half));
  }
  return cutout;
}

void set_turn(Pose& pose, double t) {
  pose.cosine = (1 - t * t) / (1 + t * t);
  pose.sine = 2 * t / (1 + t * t);
}

std::vector<double> turned_size(const Cutout& cutout, const Pose& pose) {
  const double w = cutout.width() * pose.scale, h = cutout.height() * pose.scale;
  const double c = std::fabs(pose.cosine), s = std::fabs(pose.sine);
  return {w * c + h * s, w * s + h * c};
}

Raster place(const Cutout& cutout, const Pose& pose, const Light& light, int64_t width, int64_t height) {
  // The level whose pixels come closest to the picture's.
  size_t level = 0;
  for (double scale = pose.scale; scale <= 0.7 && level + 1 < cutout.levels.size(); scale *= 2) ++level;
  const Raster& from = cutout.levels[level];
  const double across = from.width / (cutout.width() * pose.scale),
               down = from.height / (cutout.height() * pose.scale);
  const auto lit = light_table(light);

  Raster layer{width, height, std::vector<uint8_t>(static_cast<size_t>(4 * width * height))};
  const std::vector<double> box = turned_size(cutout, pose);
  const auto first = [](double v) { return std::max<int64_t>(0, static_cast<int64_t>(std::floor(v)) - 1); };
  const int64_t x0 = first(pose.x - box[0] / 2), y0 = first(pose.y - box[1] / 2);
  const int64_t x1 = std::min<int64_t>(width, static_cast<int64_t>(pose.x + box[0] / 2) + 2);
  const int64_t y1 = std::min<int64_t>(height, static_cast<int64_t>(pose.y + box[1] / 2) + 2);
  for (int64_t y = y0; y < y1; ++y) {
    for (int64_t x = x0; x < x1; ++x) {
      const double dx = x + 0.5 - pose.x, dy = y + 0.5 - pose.y;
      const double along = (dx * pose.cosine + dy * pose.sine) * across;
      const double u = (pose.flip ? -along : along) + from.width / 2.0 - 0.5;
      const double v = (dy * pose.cosine - dx * pose.sine) * down + from.height / 2.0 - 0.5;
      if (u <= -1 || v <= -1 || u >= from.width || v >= from.height) continue;
      const int64_t i = static_cast<int64_t>(u + 1) - 1, j = static_cast<int64_t>(v + 1) - 1;
      const double fu = u - i, fv = v - j;
      double sum[4] = {};
      for (int64_t b = 0; b < 2; ++b) {
        for (int64_t a = 0; a < 2; ++a) {
          if (i + a < 0 || j + b < 0 || i + a >= from.width || j + b >= from.height) continue;  // transparent
          const double weight = (a ? fu : 1 - fu) * (b ? fv : 1 - fv);
          const uint8_t* pixel = from.at(i + a, j + b);
          for (int c = 0; c < 4; ++c) sum[c] += weight * pixel[c];
        }
      }
      if (sum[3] < 0.5) continue;
      uint8_t* out = layer.at(x, y);
      for (size_t c = 0; c < 3; ++c) {
        const uint8_t colour = to_byte(sum[c] * 255 / sum[3]);
        out[c] = to_byte(lit[c][colour] * sum[3] / 255);
      }
      out[3] = to_byte(sum[3]);
    }
  }
  return layer;
}

void paint(const Raster& layer, Image& picture) {
  for (size_t i = 0; i < picture.rgb.size() / 3; ++i) {
    const int alpha = layer.rgba[4 * i + 3];
    if (alpha == 0) continue;
    for (size_t c = 0; c < 3; ++c) {
      const int value = layer.rgba[4 * i + c] + (picture.rgb[3 * i + c] * (255 - alpha) + 127) / 255;
      picture.rgb[3 * i + c] = static_cast<uint8_t>(std::min(value, 255));
    }
  }
}

void cast_shadow(const Raster& layer, int64_t dx, int64_t dy, int64_t radius, double strength,
                 Image& picture) {
  const int64_t w = picture.width, h = picture.height;
  std::vector<uint8_t> shade(static_cast<size_t>(w * h));
  for (int64_t y = std::max<int64_t>(0, dy); y < std::min(h, h + dy); ++y) {
    for (int64_t x = std::max<int64_t>(0, dx); x < std::min(w, w + dx); ++x) {
      shade[static_cast<size_t>(y * w + x)] = layer.at(x - dx, y - dy)[3];
    }
  }
  for (int pass = 0; pass < 2 && radius > 0; ++pass) {
    box_blur(shade, h, w, 1, w, radius);
    box_blur(shade, w, h, w, 1, radius);
  }
  const int full = static_cast<int>(strength * 256);
  for (size_t i = 0; i < shade.size(); ++i) {
    if (shade[i] == 0) continue;
    const int keep = 256 - full * shade[i] / 255;
    for (size_t c = 0; c < 3; ++c)
      picture.rgb[3 * i + c] = static_cast<uint8_t>(picture.rgb[3 * i + c] * keep / 256);
  }
}

void relight(const Light& light, Image& picture) {
  const auto lit = light_table(light);
  for (size_t i = 0; i < picture.rgb.size(); ++i) picture.rgb[i] = lit[i % 3][picture.rgb[i]];
}

void soften(Image& picture) {
  const int64_t w = picture.width, h = picture.height;
  const std::vector<uint8_t> from = picture.rgb;
  for (int64_t y = 0; y < h; ++y) {
    const int64_t up = std::max<int64_t>(0, y - 1) * w * 3, here = y * w * 3,
                  below = std::min(h - 1, y + 1) * w * 3;
    for (int64_t x = 0; x < w; ++x) {
      const int64_t left = std::max<int64_t>(0, x - 1) * 3, right = std::min(w - 1, x + 1) * 3;
      for (int64_t c = 0; c < 3; ++c) {
        const auto column = [&](int64_t at) {
          return from[static_cast<size_t>(up + at + c)] + 2 * from[static_cast<size_t>(here + at + c)] +
                 from[static_cast<size_t>(below + at + c)];
        };
        picture.rgb[static_cast<size_t>(here + 3 * x + c)] =
            static_cast<uint8_t>((column(left) + 2 * column(3 * x) + column(right) + 8) / 16);
      }
    }
  }
}

Image shrink(const Image& picture, int64_t width, int64_t height) {
  Image result;
  result.width = width;
  result.height = height;
  result.rgb = shrink_bytes<3>(picture.rgb, picture.width, picture.height, width, height);
  return result;
}

Image cut(const Image& picture, double x, double y, double w, double h, bool flip, int64_t width,
          int64_t height) {
  Image result;
  result.width = width;
  result.height = height;
  result.rgb.resize(static_cast<size_t>(3 * width * height));
  for (int64_t row = 0; row < height; ++row) {
    const double v = std::clamp(y + (row + 0.5) * h / height - 0.5, 0.0, picture.height - 1.0);
    const int64_t j = static_cast<int64_t>(v), below = std::min(j + 1, picture.height - 1);
    const double fv = v - j;
    for (int64_t column = 0; column < width; ++column) {
      const int64_t to = flip ? width - 1 - column : column;
      const double u = std::clamp(x + (column + 0.5) * w / width - 0.5, 0.0, picture.width - 1.0);
      const int64_t i = static_cast<int64_t>(u), right = std::min(i + 1, picture.width - 1);
      const double fu = u - i;
      for (int64_t c = 0; c < 3; ++c) {
        const auto at = [&](int64_t px, int64_t py) {
          return static_cast<double>(picture.rgb[static_cast<size_t>((py * picture.width + px) * 3 + c)]);
        };
        const double above = at(i, j) * (1 - fu) + at(right, j) * fu,
                     under = at(i, below) * (1 - fu) + at(right, below) * fu;
        result.rgb[static_cast<size_t>((row * width + to) * 3 + c)] = to_byte(above * (1 - fv) + under * fv);
      }
    }
  }
  return result;
}

}  // namespace gaze::models
