// CIDEr-D (Vedantam et al. 2015) as coco-caption computes it. Includes no torch.
#pragma once

#include <string>
#include <vector>

namespace gaze::models {

// One picture's caption and its references; words are split at spaces, which is all the tokenising that is
// done.
struct CaptionPair {
  std::string caption;
  std::vector<std::string> references;
};

struct CiderD {
  double mean = 0;             // over the pictures; 0 .. 10
  std::vector<double> scores;  // of each picture
};

// For n = 1..4 and each n-gram g: weight(g) = count(g) * (ln N - ln max(1, df(g))), N the number of pictures,
// df the number of pictures whose references contain g. For a reference r of a caption h:
//   sum_g min(h_g, r_g) r_g / (|h| |r|) * exp(-d^2 / (2 * 6^2)),  d the difference of their lengths in
//   bigrams;
// the mean over n and over references, times 10. One picture alone scores 0: every df is N. An empty caption
// scores 0. Throws ArgumentError where a picture has no reference.
CiderD cider_d(const std::vector<CaptionPair>& pairs);

}  // namespace gaze::models
