#include "apps/gaze/overlay_report.h"

#include <fmt/format.h>

#include <cmath>

#include "models/overlay/report.h"

namespace gaze::apps {
namespace {

models::ReportCaption report_of(const models::Caption& caption,
                                const std::vector<models::CaptionMaps>& explanations) {
  models::ReportCaption report{caption.text, caption.log_probability, {}};
  for (size_t w = 0; w < caption.words.size(); ++w) {
    const models::CaptionWord& word = caption.words[w];
    models::ReportWord said{word.text, std::exp(word.log_probability), {}};
    said.maps.push_back({"cross", "", grid_of(word.map), models::ReportScale::lift});
    for (const models::CaptionMaps& maps : explanations) {
      said.maps.push_back(
          {maps.method, "", grid_of(maps.words[w]),
           maps.method == "ig" ? models::ReportScale::signed_values : models::ReportScale::positive});
    }
    report.words.push_back(std::move(said));
  }
  return report;
}

}  // namespace

std::string overlay_report(const std::string& picture_file, const models::Image& picture,
                           const ExplainedPicture& explained, const OverlayRun& run) {
  models::Report report;
  report.file = picture_file;
  report.about = fmt::format("gaze {}, model {} (sha256 {})", GAZE_VERSION,
                             run.model_file.filename().string(), run.model_sha256);
  report.picture = picture;
  report.geometry = explained.result.geometry;
  report.colormap = run.style.draw.colormap;
  for (size_t i = 0; i < explained.result.captions.size(); ++i)
    report.captions.push_back(report_of(explained.result.captions[i], explained.maps[i]));
  for (const AttentionMap& map : explained.result.maps) {
    if (map.kind != AttentionMap::Kind::spatial) continue;
    report.gates.push_back({"spatial", map.name, grid_of(map.values[0]), models::ReportScale::own});
  }
  return models::report_html(report);
}

}  // namespace gaze::apps
