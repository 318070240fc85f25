#include "apps/gaze/overlay_options.h"

#include <map>

namespace gaze::apps {
namespace {

template <typename Value>
void add_choice(CLI::App& command, const std::string& flag, Value& value,
                const std::map<std::string, Value>& names, const std::string& text) {
  command.add_option(flag, value, text)
      ->transform(CLI::CheckedTransformer(names, CLI::ignore_case).description(""));
}

void add_style_options(CLI::App& sub, OverlayCommand& command) {
  models::DrawOptions& draw = command.style.draw;
  sub.add_option("--colormap", command.colormap,
                 "viridis, inferno, turbo or gray; integrated gradients are always blue (against the word) "
                 "and red (for it)")
      ->check(CLI::IsMember(models::colormap_names()).description(""))
      ->capture_default_str();
  add_choice<models::Blend>(
      sub, "--blend", draw.blend, {{"weight", models::Blend::weight}, {"constant", models::Blend::constant}},
      "weight: the more attention the more colour, the rest of the photograph untouched (default); "
      "constant: colour everywhere");
  add_choice<models::Upsample>(sub, "--upsample", draw.upsample,
                               {{"bilinear", models::Upsample::bilinear}, {"cells", models::Upsample::cells}},
                               "bilinear (default), or cells: every cell of the map a rectangle");
  add_choice<models::Scale>(
      sub, "--scale", draw.scale,
      {{"lift", models::Scale::lift}, {"map", models::Scale::map}, {"fixed", models::Scale::fixed}},
      "lift: times the uniform weight, from 1 up, the same scale for all words of a caption (default); "
      "map: smallest to largest weight; fixed: 0 to 1");
  sub.add_option("--contour", command.contours,
                 "lines around what holds these percents of a map's mass, with commas: 50,80")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1.0, 99.0));
  sub.add_flag("--grid", draw.grid, "the borders of the map's cells");
  sub.add_option("--opacity", draw.opacity, "largest share of colour")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  sub.add_option("--gamma", draw.gamma, "below 1 shows faint attention, above 1 only the strongest")
      ->check(CLI::Range(0.05, 20.0))
      ->capture_default_str();
  sub.add_option("--tile", command.style.tile, "long side of a picture in the strip, in pixels")
      ->check(CLI::Range(16, 4096))
      ->capture_default_str();
  sub.add_flag("--no-legend", command.no_legend,
               "no text and colour bar below a word's picture, which keeps its exact size");
}

}  // namespace

void add_overlay_options(CLI::App& sub, OverlayCommand& command) {
  sub.add_option("pictures", command.paths, "pictures, or folders of them");
  sub.add_option("--out", command.out, "folder to write to; made if missing");
  std::vector<std::string> maps = {"cross", "cbam"};
  for (const std::string& method : models::caption_map_methods()) maps.push_back(method);
  sub.add_option("--maps", command.maps,
                 "which maps, with commas: cross (the words' attention), cbam (gates of the network); by the "
                 "gradient of each word's log-probability gradcam, gradcam++, hirescam (of --layer) and ig "
                 "(integrated gradients, a pixel a cell; slow)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(maps).description(""))
      ->capture_default_str();
  sub.add_option("--layer", command.explain.layer,
                 "layer of gradcam, gradcam++ and hirescam; without it the network's last stage");
  sub.add_flag("--list-layers", command.list_layers, "print the layers there are with their shapes, and end");
  sub.add_option("--steps", command.explain.steps, "points of integrated gradients' way")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  add_captioner_options(sub, command.source);
  add_search_options(sub, command.search);
  add_text_option(sub, command.search);
  sub.add_option(
         "--format", command.formats,
         "what to write, with commas: png (drawings), npy (raw grids), html (report.html: one page with "
         "every map, from disk); manifest.json always")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"png", "npy", "html"}).description(""))
      ->capture_default_str();
  add_style_options(sub, command);
  sub.add_option("--max-pixels", command.image.max_pixels, "larger pictures are refused")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub.add_flag("--json", command.json, "print a JSON object a line: image, folder, caption");
  add_common_options(sub, command.common);
}

}  // namespace gaze::apps
