#include "models/training/picture_batch.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/data/for_each_index.h"
#include "models/training/streams.h"

namespace gaze::models {
namespace {

struct Box {
  int64_t left = 0, top = 0, width = 0, height = 0;
};

Box draw_box(const Image& image, double smallest, Random& random) {
  constexpr double kNarrowest = 3.0 / 4.0;
  const auto w = static_cast<double>(image.width), h = static_cast<double>(image.height);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = w * h * random.uniform(smallest, 1);
    const double ratio = std::exp(random.uniform(std::log(kNarrowest), -std::log(kNarrowest)));
    Box box;
    box.width = std::llround(std::sqrt(area * ratio));
    box.height = std::llround(std::sqrt(area / ratio));
    if (box.width < 1 || box.height < 1 || box.width > image.width || box.height > image.height) continue;
    box.left = random.between(0, image.width - box.width);
    box.top = random.between(0, image.height - box.height);
    return box;
  }
  Box box;
  box.width = std::clamp<int64_t>(std::llround(h / kNarrowest), 1, image.width);
  box.height = std::clamp<int64_t>(std::llround(w / kNarrowest), 1, image.height);
  box.left = (image.width - box.width) / 2;
  box.top = (image.height - box.height) / 2;
  return box;
}

}  // namespace

Image shrunk(Image image, int64_t short_side) {
  const int64_t shorter = std::min(image.width, image.height);
  if (shorter <= short_side) return image;
  const double scale = static_cast<double>(short_side) / static_cast<double>(shorter);
  const auto scaled = [&](int64_t side) {
    return std::max(short_side, static_cast<int64_t>(std::llround(static_cast<double>(side) * scale)));
  };
  return resize(image, scaled(image.width), scaled(image.height), Filter::bilinear);
}

PictureStore::PictureStore(std::vector<LabelledPicture> pictures, int64_t short_side, int64_t budget,
                           const ImageOptions& image)
    : pictures_(std::move(pictures)),
      kept_(pictures_.size()),
      short_side_(short_side),
      image_(image),
      budget_(budget) {}

Image PictureStore::get(int64_t i) {
  Image& kept = kept_[static_cast<size_t>(i)];
  if (!kept.rgb.empty()) return kept;
  Image image = shrunk(load_image(picture(i).file, image_), short_side_);
  const auto bytes = static_cast<int64_t>(image.rgb.size());
  if (budget_.fetch_sub(bytes) >= bytes) {
    kept = image;
  } else {
    budget_ += bytes;
  }
  return image;
}

Image random_crop(const Image& image, double smallest, double flip, Random& random) {
  const Box box = draw_box(image, smallest, random);
  const bool mirror = random.chance(flip);
  Image crop;
  crop.width = box.width;
  crop.height = box.height;
  crop.rgb.resize(static_cast<size_t>(box.width * box.height * 3));
  for (int64_t y = 0; y < box.height; ++y) {
    const uint8_t* in = image.rgb.data() + ((box.top + y) * image.width + box.left) * 3;
    uint8_t* out = crop.rgb.data() + y * box.width * 3;
    for (int64_t x = 0; x < box.width; ++x) {
      const uint8_t* from = in + 3 * (mirror ? box.width - 1 - x : x);
      std::copy(from, from + 3, out + 3 * x);
    }
  }
  return crop;
}

torch::Tensor cropped_inputs(PictureStore& store, const std::vector<int64_t>& indices,
                             const CropOptions& options, const Preprocessing& preprocessing, uint64_t key) {
  Preprocessing squash = preprocessing;
  squash.mode = ResizeMode::squash;
  const auto B = static_cast<int64_t>(indices.size());
  std::vector<torch::Tensor> inputs(indices.size());
  for_each_index(B, at::get_num_threads(), [&](int64_t b) {
    Random random({key, kPicture, static_cast<uint64_t>(b)});
    const Image crop =
        random_crop(store.get(indices[static_cast<size_t>(b)]), options.smallest, options.flip, random);
    inputs[static_cast<size_t>(b)] = preprocess(crop, squash).input;
  });
  return torch::stack(inputs);
}

double draw_beta(double alpha, Random& random) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    // Logarithms: powers of 1 / alpha underflow for a small alpha.
    const double u = std::log(1 - random.uniform()) / alpha, v = std::log(1 - random.uniform()) / alpha;
    const double largest = std::max(u, v);
    if (largest + std::log(std::exp(u - largest) + std::exp(v - largest)) <= 0)
      return 1 / (1 + std::exp(v - u));
  }
  return 0.5;
}

MixedBatch mixed(const torch::Tensor& inputs, const std::vector<int64_t>& labels, int64_t classes,
                 double share) {
  const torch::Tensor targets = torch::one_hot(torch::tensor(labels), classes).to(torch::kFloat);  // [B, K]
  if (share == 1) return {inputs, targets};
  return {share * inputs + (1 - share) * inputs.flip(0), share * targets + (1 - share) * targets.flip(0)};
}

}  // namespace gaze::models
