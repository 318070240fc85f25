// Captions of many pictures, to where they are wanted.
#pragma once

#include <filesystem>
#include <vector>

#include "apps/gaze/caption_batches.h"
#include "apps/gaze/caption_file.h"
#include "apps/gaze/caption_output.h"
#include "apps/gaze/caption_tally.h"

namespace gaze::apps {

struct CaptionRun {
  models::Captioner& captioner;
  const CaptionPlan& plan;
  const CaptionStyle& style;
  const std::vector<std::filesystem::path>& pictures;
  CaptionTally& tally;
};

// To standard output, handed on batch by batch.
void print_captions(const CaptionRun& run);

// To a file, batch by batch; pictures that it has are left out. Those that failed before are tried again and
// what they give now takes their place; others are added at the end, in their order. A run that is killed and
// gone on with so writes the same bytes as one that is not.
void write_captions(const CaptionRun& run, CaptionFile& file);

}  // namespace gaze::apps
