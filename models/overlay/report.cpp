#include "models/overlay/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/image/preprocess.h"
#include "models/overlay/report_page.h"
#include "modules/core/base64.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

using nlohmann::json;

constexpr int64_t kLongSide = 1600;  // of the picture in the page
constexpr int64_t kMostCells = 64;   // a side, of a grid in the page
constexpr int kDigits = 6;

Image small(const Image& picture) {
  const int64_t side = std::max(picture.width, picture.height);
  if (side <= kLongSide) return picture;
  const auto scaled = [&](int64_t length) { return std::max<int64_t>(1, length * kLongSide / side); };
  return resize(picture, scaled(picture.width), scaled(picture.height), Filter::bilinear);
}

// Sums over blocks, so that the mass stays.
Grid coarser(const Grid& grid) {
  const int64_t rows = std::min(grid.rows, kMostCells), cols = std::min(grid.cols, kMostCells);
  if (rows == grid.rows && cols == grid.cols) return grid;
  Grid coarse{rows, cols, std::vector<float>(static_cast<size_t>(rows * cols), 0.0F)};
  for (int64_t r = 0; r < grid.rows; ++r) {
    for (int64_t c = 0; c < grid.cols; ++c) {
      coarse.values[static_cast<size_t>(r * rows / grid.rows * cols + c * cols / grid.cols)] +=
          grid.values[static_cast<size_t>(r * grid.cols + c)];
    }
  }
  return coarse;
}

json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", kDigits, value);
  return json::parse(text);
}

const char* name_of(ReportScale scale) {
  switch (scale) {
    case ReportScale::lift:
      return "lift";
    case ReportScale::positive:
      return "positive";
    case ReportScale::signed_values:
      return "signed";
    case ReportScale::own:
      return "own";
  }
  return "";
}

json to_json(const ReportMap& map, const Geometry& geometry) {
  const Grid grid = coarser(map.grid);
  const MapSummary summary = summarise(map.grid);
  json values = json::array();
  for (const float value : grid.values) values.push_back(number(value));
  json result = {{"kind", map.kind},
                 {"rows", grid.rows},
                 {"cols", grid.cols},
                 {"values", std::move(values)},
                 {"from_image", geometry.cell_to_image(grid.rows, grid.cols).inverse().numbers()},
                 {"scale", name_of(map.scale)},
                 {"state", state_name(summary.state)},
                 {"against", number(map.scale == ReportScale::own ? 0 : summary.against)}};
  if (!map.label.empty()) result["label"] = map.label;
  return result;
}

json to_json(const ReportWord& word, const Geometry& geometry) {
  json maps = json::array();
  for (const ReportMap& map : word.maps) maps.push_back(to_json(map, geometry));
  const MapSummary attention = word.maps.empty() ? MapSummary{} : summarise(word.maps.front().grid);
  return {{"text", word.text},
          {"probability", number(word.probability)},
          {"entropy", number(attention.entropy)},
          {"peak_lift", number(attention.peak_lift)},
          {"maps", std::move(maps)}};
}

json to_json(const ReportCaption& caption, const Geometry& geometry) {
  json words = json::array();
  for (const ReportWord& word : caption.words) words.push_back(to_json(word, geometry));
  return {{"text", caption.text},
          {"log_probability", number(caption.log_probability)},
          {"words", std::move(words)}};
}

std::string hexadecimal(const std::array<Colour, 256>& table) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const Colour& colour : table) {
    for (const uint8_t part : colour) {
      text += kHex[part >> 4];
      text += kHex[part & 15];
    }
  }
  return text;
}

json kinds_of(const std::vector<ReportCaption>& captions) {
  json kinds = json::array();
  for (const ReportCaption& caption : captions) {
    for (const ReportWord& word : caption.words) {
      for (const ReportMap& map : word.maps) {
        if (std::find(kinds.begin(), kinds.end(), map.kind) == kinds.end()) kinds.push_back(map.kind);
      }
    }
  }
  return kinds;
}

json to_json(const Report& report) {
  json captions = json::array(), gates = json::array(), colormaps = json::object(), states = json::object();
  for (const ReportCaption& caption : report.captions) captions.push_back(to_json(caption, report.geometry));
  for (const ReportMap& gate : report.gates) gates.push_back(to_json(gate, report.geometry));
  for (const std::string& name : colormap_names())
    colormaps[name] = hexadecimal(colours(colormap_named(name)));
  for (const MapState state : {MapState::flat, MapState::zero, MapState::not_finite})
    states[state_name(state)] = state_text(state);
  const Rect& seen = report.geometry.seen;
  const std::string jpeg = encode_image(small(report.picture), ".jpg");
  return {{"file", report.file},
          {"stem", std::filesystem::path(report.file).stem().string()},
          {"about", report.about},
          {"width", report.picture.width},
          {"height", report.picture.height},
          {"seen", {seen.x, seen.y, seen.width, seen.height}},
          {"picture", "data:image/jpeg;base64," + to_base64(jpeg)},
          {"kinds", kinds_of(report.captions)},
          {"captions", std::move(captions)},
          {"gates", std::move(gates)},
          {"colormap", name_of(report.colormap)},
          {"colormaps", std::move(colormaps)},
          {"states", std::move(states)}};
}

std::string escaped(const std::string& text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

// JSON that no text in it can end: "</script" is "<\/script".
std::string script_json(const json& data) {
  const std::string text = data.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string safe;
  for (size_t i = 0; i < text.size(); ++i) {
    safe += text[i];
    if (text[i] == '<' && i + 1 < text.size() && (text[i + 1] == '/' || text[i + 1] == '!')) {
      safe.pop_back();
      safe += "\\u003c";
    }
  }
  return safe;
}

// `page` with each {{name}} filled in.
std::string filled(const std::string& page, const std::vector<std::pair<std::string, std::string>>& parts) {
  std::string result;
  size_t at = 0;
  while (true) {
    const size_t open = page.find("{{", at);
    if (open == std::string::npos) return result + page.substr(at);
    const size_t close = page.find("}}", open);
    const std::string name = page.substr(open + 2, close - open - 2);
    result += page.substr(at, open - at);
    for (const auto& [part, content] : parts) {
      if (part == name) result += content;
    }
    at = close + 2;
  }
}

}  // namespace

std::string report_html(const Report& report) {
  check_that(!report.captions.empty(), "report", "a caption at least", "none");
  const std::string title = report.file + ": " + report.captions.front().text;
  return filled(detail::kReportHtml, {{"title", escaped(title)},
                                      {"style", detail::kReportCss},
                                      {"data", script_json(to_json(report))},
                                      {"script", detail::kReportJs}});
}

}  // namespace gaze::models
