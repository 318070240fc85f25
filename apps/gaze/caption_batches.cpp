#include "apps/gaze/caption_batches.h"

#include <algorithm>
#include <utility>

namespace gaze::apps {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> at_places(const std::vector<fs::path>& pictures, const std::vector<size_t>& places) {
  std::vector<fs::path> chosen;
  chosen.reserve(places.size());
  for (const size_t place : places) chosen.push_back(pictures[place]);
  return chosen;
}

// A batch is prepared while the one before is captioned.
StreamOptions a_batch_ahead(const CaptionPlan& plan) {
  StreamOptions options = plan.stream;
  options.ahead = static_cast<size_t>(std::max(2 * plan.batch, 2 * options.threads));
  return options;
}

}  // namespace

CaptionBatches::CaptionBatches(models::Captioner& captioner, const CaptionPlan& plan,
                               const std::vector<fs::path>& pictures, std::vector<size_t> places)
    : captioner_(captioner),
      plan_(plan),
      pictures_(pictures),
      places_(std::move(places)),
      stream_(at_places(pictures, places_), captioner.preprocessing(), a_batch_ahead(plan)) {}

std::vector<CaptionOutcome> CaptionBatches::next() {
  std::vector<CaptionOutcome> outcomes;
  std::vector<models::PreparedImage> images;
  std::vector<size_t> captioned;  // of the outcomes
  models::SearchOptions search = plan_.search;
  search.sampling.inputs.clear();
  while (static_cast<int64_t>(outcomes.size()) < plan_.batch) {
    std::optional<StreamedPicture> picture = stream_.next();
    if (!picture) break;
    const size_t place = places_[next_++];
    outcomes.push_back({shown_path(pictures_[place]), std::nullopt, std::move(picture->error)});
    if (!picture->prepared) continue;
    images.push_back(std::move(*picture->prepared));
    captioned.push_back(outcomes.size() - 1);
    search.sampling.inputs.push_back(place);
  }
  if (images.empty()) return outcomes;
  std::vector<models::CaptionedImage> results = plan_.text
                                                    ? captioner_.score_prepared(images, *plan_.text, search)
                                                    : captioner_.caption_prepared(images, search);
  for (size_t b = 0; b < results.size(); ++b) outcomes[captioned[b]].result = std::move(results[b]);
  return outcomes;
}

}  // namespace gaze::apps
