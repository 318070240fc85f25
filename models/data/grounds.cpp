#include "models/data/grounds.h"

#include <algorithm>

#include "models/data/pixels.h"

namespace gaze::models {
namespace {

constexpr int64_t kShortSide = 480;   // photographs are kept at this size
constexpr double kPhotographs = 0.7;  // share of scenes on a photograph
constexpr int kBlack = 16;            // a border whose pixels all stay below this is cut off

// The picture without black borders.
Image trimmed(const Image& image) {
  int64_t left = image.width, right = -1, top = image.height, bottom = -1;
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < image.width; ++x) {
      const uint8_t* pixel = image.rgb.data() + 3 * (y * image.width + x);
      if (std::max({pixel[0], pixel[1], pixel[2]}) < kBlack) continue;
      left = std::min(left, x), right = std::max(right, x);
      top = std::min(top, y), bottom = std::max(bottom, y);
    }
  }
  if (right < left) return image;
  const double w = static_cast<double>(right + 1 - left), h = static_cast<double>(bottom + 1 - top);
  return cut(image, static_cast<double>(left), static_cast<double>(top), w, h, false, right + 1 - left,
             bottom + 1 - top);
}

}  // namespace

Grounds::Grounds(Split split, const DataFolders& folders) : split_(split) {
  for (const Photograph& row : photograph_table()) {
    if (row.role != "ground" || row.split != split) continue;
    auto photo = std::make_unique<Photo>();
    photo->row = &row;
    photo->file = photograph_file(row, folders);
    std::error_code ignored;
    photo->installed = std::filesystem::is_regular_file(photo->file, ignored);
    photos_.push_back(std::move(photo));
  }
}

std::vector<std::string> Grounds::missing() const {
  std::vector<std::string> names;
  for (const auto& photo : photos_) {
    if (!photo->installed) names.push_back(photo->row->id);
  }
  return names;
}

Ground Grounds::draw(Random& random, int64_t width, int64_t height) const {
  const bool wants_photograph = random.chance(kPhotographs) && !photos_.empty();
  if (wants_photograph) {
    const Photo& photo = *photos_[static_cast<size_t>(random.below(static_cast<int64_t>(photos_.size())))];
    if (photo.installed) return photograph(photo, random, width, height);
  }
  return texture(split_, random, width, height);
}

Ground Grounds::photograph(const Photo& photo, Random& random, int64_t width, int64_t height) const {
  std::call_once(photo.once, [&photo] {
    Image image = trimmed(load_image(photo.file));
    const int64_t side = std::min(image.width, image.height);
    photo.image = side <= kShortSide
                      ? std::move(image)
                      : shrink(image, image.width * kShortSide / side, image.height * kShortSide / side);
  });
  const Image& image = photo.image;
  // The largest rectangle of the scene's shape, then part of it.
  const double fit =
      std::min(static_cast<double>(image.width) / width, static_cast<double>(image.height) / height);
  const double part = fit * random.uniform(0.6, 1.0);
  const double w = width * part, h = height * part;
  const double x = random.uniform(0, image.width - w), y = random.uniform(0, image.height - h);
  Ground ground{cut(image, x, y, w, h, random.chance(0.5), width, height), photo.row->ground};
  Light light;
  light.contrast = random.uniform(0.8, 1.15);
  const double brightness = random.uniform(0.75, 1.2);
  for (double& gain : light.gain) gain = brightness * random.uniform(0.95, 1.05);
  relight(light, ground.picture);
  if (random.chance(0.25)) soften(ground.picture);
  return ground;
}

}  // namespace gaze::models
