// The crops that teacher and student look at: as many different ones as there is time for.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "models/data/grounds.h"
#include "models/data/pixels.h"
#include "models/data/scenes.h"
#include "models/image/image.h"
#include "models/training/distill_recipe.h"
#include "modules/core/random.h"

namespace gaze::models {

// Pictures of equal size -> [B, 3, H, W] float32 RGB in 0..1, channels last.
at::Tensor picture_tensor(const std::vector<Image>& pictures);

// A crop starts from a random resized crop of a pool picture, or from a bare ground; then cut-outs are pasted
// over it anywhere and at any size, and its light is changed. Stamps and grounds are those of the training
// split.
//
// The pool is a window over an endless row of numbered pictures: at step s it holds pictures s * fresh ..
// s * fresh + pool - 1. Each is a scene composed by its number or, for a share of the numbers, one of the
// photographs, drawn by its number; it is made when it is first cut from and forgotten when the window has
// passed it. So memory is bounded, and what a step sees depends on its number and key alone.
class DistillCrops {
 public:
  // Reads the names of the photographs below the recipe's folders; those that gaze itself is tested with are
  // left out. `say`: lines for a person, such as a photograph that can't be read, whose place a scene takes.
  // Throws FileError for a folder without pictures, and where the stamps' package is missing.
  DistillCrops(const DistillRecipe& recipe, std::function<void(const std::string&)> say);

  // The crops of a step: [batch, 3, size, size] float32 RGB in 0..1. Throws FileError.
  at::Tensor draw(int64_t step, int64_t batch, int64_t size, uint64_t key);

  int64_t photographs() const { return static_cast<int64_t>(photographs_.size()); }
  // Photographic grounds that this machine lacks; painted ones stand in their place.
  std::vector<std::string> missing_grounds() const { return grounds_.missing(); }

 private:
  struct PoolPicture {
    int64_t number = -1;
    Image image;
  };
  struct Source {
    std::filesystem::path file;
    std::once_flag once;
    Cutout cutout;
  };

  Image make(int64_t number);
  void fill(const std::vector<int64_t>& numbers);
  void paste(Image& picture, Random& random) const;
  void change_light(Image& picture, Random& random) const;

  DistillRecipe recipe_;
  std::function<void(const std::string&)> say_;
  std::mutex saying_;
  SceneComposer composer_;
  Grounds grounds_;
  std::vector<std::filesystem::path> photographs_;
  std::vector<std::unique_ptr<Source>> stamps_;
  std::vector<PoolPicture> pool_;  // picture i at i % pool
};

}  // namespace gaze::models
