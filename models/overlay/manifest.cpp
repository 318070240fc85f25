#include "models/overlay/manifest.h"

#include <cmath>

namespace gaze::models {
namespace {

nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}
nlohmann::json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

nlohmann::json map_json(const ManifestMap& map, const Geometry& geometry) {
  nlohmann::json json = {{"name", map.name},
                         {"kind", map.kind},
                         {"rows", map.rows},
                         {"cols", map.cols},
                         {"file", text_or_null(map.file)},
                         {"raw", text_or_null(map.raw)},
                         {"min", number(map.summary.min)},
                         {"max", number(map.summary.max)},
                         {"entropy", number(map.summary.entropy)},
                         {"peak_lift", number(map.summary.peak_lift)},
                         {"against", number(map.summary.against)},
                         {"state", state_name(map.summary.state)}};
  // A channel gate has no place on the picture.
  json["to_image"] = map.kind == "channel"
                         ? nlohmann::json()
                         : nlohmann::json(geometry.cell_to_image(map.rows, map.cols).numbers());
  return json;
}

}  // namespace

nlohmann::json to_json(const Manifest& manifest) {
  const Geometry& geometry = manifest.geometry;
  nlohmann::json maps = nlohmann::json::array();
  for (const ManifestMap& map : manifest.maps) maps.push_back(map_json(map, geometry));
  return {{"gaze", manifest.version},
          {"model", {{"file", manifest.model_file.string()}, {"sha256", manifest.model_sha256}}},
          {"image",
           {{"file", manifest.image_file},
            {"width", geometry.width},
            {"height", geometry.height},
            {"exif", manifest.exif_orientation}}},
          {"to_image", geometry.input_to_image.numbers()},
          {"seen", {geometry.seen.x, geometry.seen.y, geometry.seen.width, geometry.seen.height}},
          {"maps", std::move(maps)},
          {"caption", manifest.caption},
          {"options", manifest.options}};
}

}  // namespace gaze::models
