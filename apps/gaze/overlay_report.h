// The report of one picture's overlay: report.html.
#pragma once

#include <string>
#include <vector>

#include "apps/gaze/overlay_files.h"

namespace gaze::apps {

// All captions with their maps, and the network's spatial gates, on one page. See report_html().
std::string overlay_report(const std::string& picture_file, const models::Image& picture,
                           const ExplainedPicture& explained, const OverlayRun& run);

}  // namespace gaze::apps
