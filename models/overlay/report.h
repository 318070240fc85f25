// One page that shows a caption's maps in a browser, from disk, with nothing fetched. Includes no torch and
// no OpenCV.
#pragma once

#include <string>
#include <vector>

#include "models/image/geometry.h"
#include "models/image/image.h"
#include "models/overlay/colormap.h"
#include "models/overlay/map_summary.h"

namespace gaze::models {

// How a map of the report is shown: attention as lift, what speaks for a word from zero up, signed values
// both ways from zero, gates from their least to their largest value.
enum class ReportScale { lift, positive, signed_values, own };

struct ReportMap {
  std::string kind;   // "cross", "gradcam", "spatial": one of a word's maps each
  std::string label;  // of a gate: "layer3.5.attn.0/spatial"
  Grid grid;
  ReportScale scale = ReportScale::lift;
};

struct ReportWord {
  std::string text;
  double probability = 0;       // 0..1
  std::vector<ReportMap> maps;  // the first is its attention, kind "cross"
};

struct ReportCaption {
  std::string text;
  double log_probability = 0;
  std::vector<ReportWord> words;
};

struct Report {
  std::string file;   // of the picture, as the person gave it
  std::string about;  // the page's last line: program, model
  Image picture;      // upright, at its own size
  Geometry geometry;
  std::vector<ReportCaption> captions;  // best first; the words of each have maps of the same kinds
  std::vector<ReportMap> gates;
  Colormap colormap = Colormap::viridis;
};

// The page: HTML, style, script, the picture (a JPEG of at most 1600 pixels a side) and every grid, as
// numbers of 6 digits; a grid of more than 64 rows or columns as sums over blocks. It refers to nothing
// outside itself. Throws ArgumentError for a report without captions.
std::string report_html(const Report& report);

}  // namespace gaze::models
