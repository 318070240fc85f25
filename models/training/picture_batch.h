// Pictures of an ImageFolder as the learner sees them: cropped, mirrored, mixed.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "models/data/image_folder.h"
#include "models/image/image.h"
#include "models/image/preprocess.h"
#include "modules/core/random.h"

namespace gaze::models {

// The picture smaller, its short side `short_side`, where it is above that.
Image shrunk(Image image, int64_t short_side);

// Pictures read when they are first asked for, made smaller where their short side is above `short_side`, and
// kept as long as all of them take at most `budget` bytes; the others are read again each time, and come out
// the same.
class PictureStore {
 public:
  PictureStore(std::vector<LabelledPicture> pictures, int64_t short_side, int64_t budget = int64_t{1} << 30,
               const ImageOptions& image = {});

  int64_t size() const { return static_cast<int64_t>(pictures_.size()); }
  const LabelledPicture& picture(int64_t i) const { return pictures_[static_cast<size_t>(i)]; }

  // Threads may ask at the same time, each for another picture. Throws FileError.
  Image get(int64_t i);

 private:
  std::vector<LabelledPicture> pictures_;
  std::vector<Image> kept_;
  int64_t short_side_;
  ImageOptions image_;
  std::atomic<int64_t> budget_;
};

// A part of the picture, mirrored with probability `flip`: `smallest` to all of its area, sides in a ratio of
// 3:4 to 4:3, as torchvision's RandomResizedCrop draws it; after ten draws that do not fit the largest
// centred one.
Image random_crop(const Image& image, double smallest, double flip, Random& random);

// Crops of these pictures, squashed to the network's input: [B, 3, H, W]. Each picture's draw depends on
// `key` and its place in the batch alone.
struct CropOptions {
  double smallest = 0.35, flip = 0.5;
};
at::Tensor cropped_inputs(PictureStore& store, const std::vector<int64_t>& indices,
                          const CropOptions& options, const Preprocessing& preprocessing, uint64_t key);

// A number of the distribution Beta(alpha, alpha), 0 < alpha <= 1 (Jöhnk 1964).
double draw_beta(double alpha, Random& random);

// Mixup (Zhang et al. 2018): each picture with its mirror place in the batch, share x it + (1 - share) x the
// other.
struct MixedBatch {
  at::Tensor inputs;   // [B, 3, H, W]
  at::Tensor targets;  // [B, K] shares of the classes
};
MixedBatch mixed(const at::Tensor& inputs, const std::vector<int64_t>& labels, int64_t classes, double share);

}  // namespace gaze::models
