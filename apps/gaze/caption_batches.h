// Captions of many pictures, batch by batch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/gaze/caption_output.h"
#include "apps/gaze/picture_stream.h"
#include "models/captioner/captioner.h"

namespace gaze::apps {

struct CaptionPlan {
  models::SearchOptions search;
  std::optional<std::string> text;  // is scored instead
  int64_t batch = 8;                // pictures the model takes at once
  StreamOptions stream;
};

class CaptionBatches {
 public:
  // Captions the pictures at `places`, in this order. A picture's place is its number for sampling. The last
  // digits of a probability depend on which pictures share a batch.
  CaptionBatches(models::Captioner& captioner, const CaptionPlan& plan,
                 const std::vector<std::filesystem::path>& pictures, std::vector<size_t> places);

  // Those of the next batch, as many as there are places left, or `batch`; none after the last.
  std::vector<CaptionOutcome> next();

 private:
  models::Captioner& captioner_;
  const CaptionPlan plan_;
  const std::vector<std::filesystem::path>& pictures_;
  const std::vector<size_t> places_;
  size_t next_ = 0;  // of places_
  PictureStream stream_;
};

}  // namespace gaze::apps
