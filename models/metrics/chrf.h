// chrF2 (Popović 2015, 2016) as sacrebleu 2.6 computes it: "chrF2|nc:6|nw:0|space:no|eff:yes". Includes no
// torch.
#pragma once

#include <string>
#include <vector>

namespace gaze::models {

// One line's translation and its references, in UTF-8.
struct TranslatedLine {
  std::string translation;
  std::vector<std::string> references;
};

struct ChrF {
  double corpus = 0;           // from the counts of all lines; 0 .. 100
  std::vector<double> scores;  // of each line alone; 0 .. 100
};

// White space is removed, case is kept. For n = 1..6, of the n-grams of characters: precision p_n = matches /
// n-grams of the translation, recall r_n = matches / n-grams of the reference, a match being the lesser of an
// n-gram's two counts. P and R are the means of p_n and r_n over those n that both texts are long enough for;
//   chrF2 = 100 (1 + 2^2) P R / (2^2 P + R),
// 0 where P + R is 0. A line counts with the reference of its highest score, the first of equal ones.
// `corpus` takes p_n and r_n from the counts summed over the lines. Empty references are left out; throws
// ArgumentError where a line has no other.
ChrF chrf2(const std::vector<TranslatedLine>& lines);

}  // namespace gaze::models
