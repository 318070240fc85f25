#include "models/image/preprocess.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/image/resize_window.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr const char* kOp = "preprocessing";

const std::vector<std::pair<std::string, ResizeMode>>& mode_names() {
  static const std::vector<std::pair<std::string, ResizeMode>> names = {{"squash", ResizeMode::squash},
                                                                        {"crop", ResizeMode::crop},
                                                                        {"letterbox", ResizeMode::letterbox},
                                                                        {"fit", ResizeMode::fit}};
  return names;
}

const std::vector<std::pair<std::string, Filter>>& filter_names() {
  static const std::vector<std::pair<std::string, Filter>> names = {{"nearest", Filter::nearest},
                                                                    {"bilinear", Filter::bilinear},
                                                                    {"bicubic", Filter::bicubic},
                                                                    {"lanczos", Filter::lanczos}};
  return names;
}

template <typename T>
std::string name_of(T value, const std::vector<std::pair<std::string, T>>& names) {
  for (const auto& [name, candidate] : names) {
    if (candidate == value) return name;
  }
  return "";
}

template <typename T>
T value_of(const nlohmann::json& json, const std::string& key,
           const std::vector<std::pair<std::string, T>>& names) {
  check_that(json.is_string(), kOp, "\"" + key + "\" to be a text", json.dump());
  const std::string name = json.get<std::string>();
  std::vector<std::string> known;
  for (const auto& [candidate, value] : names) {
    if (candidate == name) return value;
    known.push_back(candidate);
  }
  fail_unknown(kOp, key, name, known);
}

const nlohmann::json& at_key(const nlohmann::json& json, const std::string& key) {
  check_that(json.contains(key), kOp, "the key \"" + key + "\"", json.dump());
  return json.at(key);
}

int64_t positive(const nlohmann::json& json, const std::string& key) {
  const bool fits = json.is_number_integer() && json.get<int64_t>() >= 1 && json.get<int64_t>() <= 16384;
  check_that(fits, kOp, "\"" + key + "\" to be a whole number from 1 to 16384", json.dump());
  return json.get<int64_t>();
}

std::array<float, 3> three(const nlohmann::json& json, const std::string& key) {
  bool fits = json.is_array() && json.size() == 3;
  for (size_t i = 0; fits && i < 3; ++i) fits = json[i].is_number();
  check_that(fits, kOp, "\"" + key + "\" to be three numbers", json.dump());
  return {json[0].get<float>(), json[1].get<float>(), json[2].get<float>()};
}

void check(const Preprocessing& p) {
  check_that(p.height >= 1 && p.width >= 1, kOp, "a size of at least 1 x 1",
             std::to_string(p.width) + " x " + std::to_string(p.height));
  check_that(p.mode != ResizeMode::crop || p.resize >= std::max(p.height, p.width), kOp,
             "\"resize\" to be at least the size that is cropped from it",
             std::to_string(p.resize) + " for " + std::to_string(p.width) + " x " + std::to_string(p.height));
  for (const float std : p.std) check_that(std > 0, kOp, "\"std\" above 0", std::to_string(std));
}

// A resized picture under the model's input: input (0, 0) is its (left, top), which is negative where the
// input is padded. Only `visible` of it, the part within the input, is ever computed.
struct Placed {
  int64_t width = 0, height = 0;  // of the resized picture
  int64_t left = 0, top = 0;
  detail::Window visible;
};

// torchvision's Resize: the short side becomes `p.resize`, the long side is cut to a whole pixel.
void place_crop(const Image& image, const Preprocessing& p, Placed& placed) {
  const int64_t shorter = std::min(image.width, image.height);
  const int64_t longer = std::max(image.width, image.height);
  const auto new_longer =
      static_cast<int64_t>(static_cast<double>(p.resize * longer) / static_cast<double>(shorter));
  const bool portrait = image.width <= image.height;
  placed.width = portrait ? p.resize : new_longer;
  placed.height = portrait ? new_longer : p.resize;
  // CenterCrop: halves go to the even neighbour, as Python's round() has it.
  placed.left = static_cast<int64_t>(std::nearbyint(static_cast<double>(placed.width - p.width) / 2));
  placed.top = static_cast<int64_t>(std::nearbyint(static_cast<double>(placed.height - p.height) / 2));
}

void place_letterbox(const Image& image, const Preprocessing& p, Placed& placed) {
  const double scale = std::min(static_cast<double>(p.width) / static_cast<double>(image.width),
                                static_cast<double>(p.height) / static_cast<double>(image.height));
  const auto scaled = [&](int64_t side, int64_t most) {
    return std::clamp<int64_t>(std::llround(static_cast<double>(side) * scale), 1, most);
  };
  placed.width = scaled(image.width, p.width);
  placed.height = scaled(image.height, p.height);
  placed.left = -((p.width - placed.width) / 2);
  placed.top = -((p.height - placed.height) / 2);
}

// CATR's: sides times the scale, in double, cut to whole pixels.
void place_fit(const Image& image, const Preprocessing& p, Placed& placed) {
  const double width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  const double scale = std::min(static_cast<double>(p.width) / width, static_cast<double>(p.height) / height);
  placed.width = std::max<int64_t>(1, static_cast<int64_t>(width * scale));
  placed.height = std::max<int64_t>(1, static_cast<int64_t>(height * scale));
}

Placed place(const Image& image, const Preprocessing& p) {
  check_that(image.width >= 1 && image.height >= 1, "preprocess", "a picture of at least 1 x 1",
             std::to_string(image.width) + " x " + std::to_string(image.height));
  Placed placed;
  switch (p.mode) {
    case ResizeMode::squash:
      placed.width = p.width;
      placed.height = p.height;
      break;
    case ResizeMode::crop:
      place_crop(image, p, placed);
      break;
    case ResizeMode::letterbox:
      place_letterbox(image, p, placed);
      break;
    case ResizeMode::fit:
      place_fit(image, p, placed);
      break;
  }
  detail::Window& visible = placed.visible;
  visible.left = std::max<int64_t>(0, placed.left);
  visible.top = std::max<int64_t>(0, placed.top);
  visible.width = std::min(placed.width, placed.left + p.width) - visible.left;
  visible.height = std::min(placed.height, placed.top + p.height) - visible.top;
  return placed;
}

// [3, H, W]; where the picture does not reach, zeros, which is the mean colour.
at::Tensor normalise(const Image& picture, const Placed& placed, const Preprocessing& p) {
  // Not at::zeros(), which has LibTorch start threads of its own for each thread that prepares pictures.
  at::Tensor input = at::empty({3, p.height, p.width}, at::kFloat);  // [3, H, W]
  std::fill_n(input.data_ptr<float>(), input.numel(), 0.0F);
  const int64_t left = placed.visible.left - placed.left;
  const int64_t top = placed.visible.top - placed.top;
  for (int64_t channel = 0; channel < 3; ++channel) {
    const size_t c = static_cast<size_t>(channel);
    std::array<float, 256> values{};
    for (size_t v = 0; v < 256; ++v) values[v] = (static_cast<float>(v) / 255.0F - p.mean[c]) / p.std[c];
    float* plane = input.data_ptr<float>() + channel * p.height * p.width;
    const uint8_t* in = picture.rgb.data() + channel;
    for (int64_t y = 0; y < picture.height; ++y) {
      float* out = plane + (y + top) * p.width + left;
      for (int64_t x = 0; x < picture.width; ++x, in += 3) out[x] = values[*in];
    }
  }
  return input;
}

Geometry geometry_of(const Image& image, const Placed& placed, const Preprocessing& p) {
  Geometry geometry;
  geometry.width = image.width;
  geometry.height = image.height;
  geometry.input_width = p.width;
  geometry.input_height = p.height;
  const double scale_x = static_cast<double>(image.width) / static_cast<double>(placed.width);
  const double scale_y = static_cast<double>(image.height) / static_cast<double>(placed.height);
  geometry.input_to_image.a = scale_x;
  geometry.input_to_image.c = scale_x * static_cast<double>(placed.left);
  geometry.input_to_image.e = scale_y;
  geometry.input_to_image.f = scale_y * static_cast<double>(placed.top);
  const detail::Window& visible = placed.visible;
  geometry.seen = {static_cast<double>(visible.left) * scale_x, static_cast<double>(visible.top) * scale_y,
                   static_cast<double>(visible.width) * scale_x,
                   static_cast<double>(visible.height) * scale_y};
  return geometry;
}

}  // namespace

Preprocessing resnet_preprocessing() {
  return {};
}

Preprocessing efficientnet_lite_preprocessing(int64_t size) {
  Preprocessing p;
  p.height = p.width = size;
  p.resize = size + 32;
  p.filter = Filter::bicubic;
  p.mean.fill(127.0F / 255.0F);
  p.std.fill(128.0F / 255.0F);
  return p;
}

nlohmann::json to_json(const Preprocessing& p) {
  nlohmann::json json = {{"size", {p.height, p.width}},
                         {"mode", name_of(p.mode, mode_names())},
                         {"filter", name_of(p.filter, filter_names())},
                         {"mean", p.mean},
                         {"std", p.std}};
  if (p.mode == ResizeMode::crop) json["resize"] = p.resize;
  return json;
}

Preprocessing preprocessing_from_json(const nlohmann::json& json) {
  check_that(json.is_object(), kOp, "an object", json.dump());
  static const std::vector<std::string> known = {"size", "mode", "resize", "filter", "mean", "std"};
  for (const auto& item : json.items()) {
    if (std::find(known.begin(), known.end(), item.key()) == known.end())
      fail_unknown(kOp, "key", item.key(), known);
  }
  Preprocessing p;
  const nlohmann::json& size = at_key(json, "size");
  check_that(size.is_array() && size.size() == 2, kOp, "\"size\" to be [height, width]", size.dump());
  p.height = positive(size[0], "size");
  p.width = positive(size[1], "size");
  p.mode = value_of(at_key(json, "mode"), "mode", mode_names());
  if (p.mode == ResizeMode::crop) p.resize = positive(at_key(json, "resize"), "resize");
  p.filter = value_of(at_key(json, "filter"), "filter", filter_names());
  p.mean = three(at_key(json, "mean"), "mean");
  p.std = three(at_key(json, "std"), "std");
  check(p);
  return p;
}

PreparedImage preprocess(const Image& image, const Preprocessing& preprocessing) {
  check(preprocessing);
  const Placed placed = place(image, preprocessing);
  const Image picture =
      detail::resize_window(image, placed.width, placed.height, preprocessing.filter, placed.visible);
  Preprocessing own = preprocessing;
  if (own.mode == ResizeMode::fit) {
    own.width = placed.width;
    own.height = placed.height;
  }
  return {normalise(picture, placed, own), geometry_of(image, placed, own)};
}

}  // namespace gaze::models
