#include "models/training/distill_crops.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "models/data/for_each_index.h"
#include "models/data/photographs.h"
#include "models/image/picture_files.h"
#include "models/image/preprocess.h"
#include "models/training/picture_batch.h"
#include "models/training/streams.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

constexpr double kCloseUps = 0.4;  // of one-object scenes
constexpr double kSoft = 0.15;     // share of crops that are blurred

SceneOptions pool_scenes(const DistillRecipe& recipe) {
  SceneOptions options;
  options.split = Split::train;
  options.seed = recipe.seed;
  options.size = recipe.pool_size;
  options.close_ups = kCloseUps;
  return options;
}

// The photographs that are not to be learned from.
std::set<fs::path> kept_from_training() {
  std::set<fs::path> files;
  std::error_code ignored;
  for (const Photograph& row : photograph_table()) {
    if (row.role != "ground" || row.split != Split::train)
      files.insert(fs::weakly_canonical(photograph_file(row), ignored));
  }
  return files;
}

std::vector<fs::path> photographs_of(const std::vector<fs::path>& folders) {
  const std::set<fs::path> kept = kept_from_training();
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    const std::vector<fs::path> found = pictures_below(folder);
    if (found.empty())
      throw FileError(folder.string(), "holds no pictures", "give --pictures a folder of photographs");
    std::error_code ignored;
    std::copy_if(found.begin(), found.end(), std::back_inserter(files),
                 [&](const fs::path& file) { return kept.count(fs::weakly_canonical(file, ignored)) == 0; });
  }
  return files;
}

Light draw_light(double jitter, Random& random) {
  Light light;
  light.contrast = random.uniform(1 - jitter, 1 + jitter);
  const double brightness = random.uniform(1 - jitter, 1 + jitter);
  for (double& gain : light.gain) gain = brightness * random.uniform(1 - jitter / 3, 1 + jitter / 3);
  return light;
}

}  // namespace

torch::Tensor picture_tensor(const std::vector<Image>& pictures) {
  const auto B = static_cast<int64_t>(pictures.size());
  const int64_t H = pictures.at(0).height, W = pictures[0].width;
  const torch::Tensor bytes = torch::empty({B, H, W, 3}, torch::kByte);
  for (int64_t b = 0; b < B; ++b) {
    const std::vector<uint8_t>& rgb = pictures[static_cast<size_t>(b)].rgb;
    std::memcpy(bytes[b].data_ptr<uint8_t>(), rgb.data(), rgb.size());
  }
  return bytes.permute({0, 3, 1, 2}).to(torch::kFloat).div_(255);  // [B, 3, H, W]
}

DistillCrops::DistillCrops(const DistillRecipe& recipe, std::function<void(const std::string&)> say)
    : recipe_(recipe),
      say_(std::move(say)),
      composer_(pool_scenes(recipe)),
      grounds_(Split::train, {}),
      photographs_(photographs_of(recipe.pictures)),
      pool_(static_cast<size_t>(recipe.pool)) {
  for (const Stamp& stamp : stamp_table()) {
    if (stamp.split != Split::train) continue;
    stamps_.push_back(std::make_unique<Source>());
    stamps_.back()->file = stamps_folder() / stamp.file;
  }
}

Image DistillCrops::make(int64_t number) {
  Random random({recipe_.seed, kPool, static_cast<uint64_t>(number)});
  if (!photographs_.empty() && random.chance(recipe_.picture_share)) {
    const auto i = static_cast<size_t>(random.below(static_cast<int64_t>(photographs_.size())));
    try {
      return shrunk(load_image(photographs_[i]), recipe_.pool_size);
    } catch (const FileError& error) {
      const std::lock_guard lock(saying_);
      say_(fmt::format("{}; a scene takes its place", error.what()));
    }
  }
  return composer_.compose(static_cast<uint64_t>(number)).image;
}

// Makes those of these pictures that the pool does not hold.
void DistillCrops::fill(const std::vector<int64_t>& numbers) {
  std::set<int64_t> missing;
  for (const int64_t number : numbers) {
    if (pool_[static_cast<size_t>(number % recipe_.pool)].number != number) missing.insert(number);
  }
  const std::vector<int64_t> wanted(missing.begin(), missing.end());
  for_each_index(static_cast<int64_t>(wanted.size()), at::get_num_threads(), [&](int64_t i) {
    const int64_t number = wanted[static_cast<size_t>(i)];
    pool_[static_cast<size_t>(number % recipe_.pool)] = {number, make(number)};
  });
}

void DistillCrops::paste(Image& picture, Random& random) const {
  Source& source = *stamps_[static_cast<size_t>(random.below(static_cast<int64_t>(stamps_.size())))];
  std::call_once(source.once, [&] { source.cutout = load_cutout(source.file); });
  Pose pose;
  pose.flip = random.chance(0.5);
  set_turn(pose, random.uniform(-0.3, 0.3));
  const auto size = static_cast<double>(picture.width);
  const auto longer = static_cast<double>(std::max(source.cutout.width(), source.cutout.height()));
  pose.scale = size * random.uniform(0.25, 1.2) / longer;
  pose.x = size * random.uniform(0.1, 0.9);
  pose.y = size * random.uniform(0.1, 0.9);
  paint(place(source.cutout, pose, draw_light(recipe_.jitter, random), picture.width, picture.height),
        picture);
}

void DistillCrops::change_light(Image& picture, Random& random) const {
  relight(draw_light(recipe_.jitter, random), picture);
  if (random.chance(kSoft)) soften(picture);
}

torch::Tensor DistillCrops::draw(int64_t step, int64_t batch, int64_t size, uint64_t key) {
  std::vector<int64_t> numbers(static_cast<size_t>(batch), -1);  // -1: a bare ground
  std::vector<int64_t> pooled;
  for (size_t b = 0; b < numbers.size(); ++b) {
    Random plan({key, kPicture, b, 0});
    if (plan.chance(recipe_.grounds)) continue;
    numbers[b] = step * recipe_.fresh + plan.below(recipe_.pool);
    pooled.push_back(numbers[b]);
  }
  fill(pooled);
  std::vector<Image> crops(numbers.size());
  for_each_index(batch, at::get_num_threads(), [&](int64_t i) {
    const auto b = static_cast<size_t>(i);
    Random random({key, kPicture, b, 1});
    Image crop;
    if (numbers[b] < 0) {
      crop = grounds_.draw(random, size, size).picture;
    } else {
      const Image& whole = pool_[static_cast<size_t>(numbers[b] % recipe_.pool)].image;
      crop = resize(random_crop(whole, recipe_.smallest_crop, recipe_.flip, random), size, size,
                    Filter::bilinear);
    }
    for (int64_t n = random.below(recipe_.pastes + 1); n > 0; --n) paste(crop, random);
    change_light(crop, random);
    crops[b] = std::move(crop);
  });
  return picture_tensor(crops);
}

}  // namespace gaze::models
