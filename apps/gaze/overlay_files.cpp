#include "apps/gaze/overlay_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "apps/gaze/overlay_report.h"
#include "models/overlay/manifest.h"
#include "models/overlay/npy.h"
#include "models/overlay/output_names.h"
#include "modules/core/atomic_file.h"

namespace gaze::apps {
namespace {

namespace fs = std::filesystem;

// Remembers what was written into a folder and takes it back unless it is kept.
class Output {
 public:
  explicit Output(fs::path folder) : folder_(std::move(folder)) {
    std::error_code ignored;
    fs::remove(folder_ / "manifest.json",
               ignored);  // an older one would vouch for files that are about to change
  }
  ~Output() {
    if (kept_) return;
    std::error_code ignored;
    for (const fs::path& path : written_) fs::remove(path, ignored);
    fs::remove(folder_, ignored);  // does nothing while others' files are in it
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  fs::path next(const std::string& name) {
    written_.push_back(folder_ / name);
    return written_.back();
  }
  void keep() { kept_ = true; }

 private:
  fs::path folder_;
  std::vector<fs::path> written_;
  bool kept_ = false;
};

std::vector<float> values_of(const at::Tensor& values) {
  const at::Tensor flat = values.detach().to(at::kCPU, at::kFloat).contiguous();
  return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

struct Job {
  const OverlayRun& run;
  Output& output;
  const models::Image& picture;
  const models::Geometry& geometry;
  const OverlayStyle& style;
  std::vector<models::ManifestMap>& maps;
};

// One map on the picture, and its raw grid.
void write_map(const Job& job, const std::string& name, const std::string& kind, const models::Grid& grid,
               const models::DrawOptions& draw, const models::Legend& legend) {
  const std::string file = models::map_file_name(name);
  if (job.run.drawings) {
    models::Image drawn = models::draw_map(job.picture, job.geometry, grid, draw);
    if (job.style.legend) drawn = models::with_legend(drawn, legend);
    models::save_image(drawn, job.output.next(file + ".png"));
  }
  if (job.run.raw) models::write_npy(job.output.next(file + ".npy"), {grid.rows, grid.cols}, grid.values);
  job.maps.push_back({name, kind, grid.rows, grid.cols, job.run.drawings ? file + ".png" : "",
                      job.run.raw ? file + ".npy" : "", models::summarise(grid)});
}

void write_words(const Job& job, const models::Caption& caption) {
  std::vector<models::StripWord> words;
  std::vector<models::Grid> grids;
  for (const models::CaptionWord& word : caption.words) {
    words.push_back({word.text, std::exp(word.log_probability), grid_of(word.map)});
    grids.push_back(words.back().grid);
  }
  models::StripOptions strip;
  strip.draw = job.style.draw;
  strip.draw.range = models::range_of(grids, strip.draw.scale);  // one scale for all words
  strip.tile = job.style.tile;
  if (job.run.drawings) {
    models::save_image(models::draw_strip(job.picture, job.geometry, caption.text, words, strip),
                       job.output.next("strip.png"));
  }
  for (size_t i = 0; i < words.size(); ++i) {
    const models::MapSummary summary = models::summarise(words[i].grid);
    models::Legend legend;
    legend.title = words[i].text;
    legend.detail = fmt::format("{:.0f} %", 100 * words[i].probability);
    if (summary.state == models::MapState::normal && std::isfinite(summary.peak_lift))
      legend.detail += fmt::format(", peak {:.1f}x", summary.peak_lift);
    legend.range = *strip.draw.range;
    legend.scale = strip.draw.scale;
    legend.colormap = strip.draw.colormap;
    write_map(job, models::word_map_name(static_cast<int64_t>(i) + 1, words[i].text), "word", words[i].grid,
              strip.draw, legend);
  }
}

// A channel gate has no place on the picture: its raw numbers are kept.
void write_channels(const Job& job, const AttentionMap& map) {
  const std::string file = job.run.raw ? models::map_file_name(map.name) + ".npy" : "";
  const models::Grid grid{1, map.values.size(1), values_of(map.values[0])};
  if (job.run.raw) models::write_npy(job.output.next(file), {grid.cols}, grid.values);
  job.maps.push_back({map.name, "channel", grid.rows, grid.cols, "", file, models::summarise(grid)});
}

void write_gates(const Job& job, const std::vector<AttentionMap>& maps) {
  for (const AttentionMap& map : maps) {
    if (map.kind == AttentionMap::Kind::channel) write_channels(job, map);
    if (map.kind != AttentionMap::Kind::spatial) continue;
    const models::Grid grid = grid_of(map.values[0]);  // [H, W]
    models::DrawOptions draw = job.style.draw;
    draw.scale = models::Scale::map;  // a gate is no share of one: lift says nothing
    draw.range = models::range_of({grid}, draw.scale);
    models::Legend legend;
    legend.title = map.name;
    legend.detail = fmt::format("gate, {} x {} cells", grid.rows, grid.cols);
    legend.range = *draw.range;
    legend.scale = draw.scale;
    legend.colormap = draw.colormap;
    write_map(job, map.name, "spatial", grid, draw, legend);
  }
}

// What speaks for each word by one method, each word on its own scale: a word that is sure has small
// gradients. Of integrated gradients what speaks against it is drawn, too, and no contours: a pixel a cell
// has none that could be read. The raw grids are signed.
void write_explanation(const Job& job, const models::CaptionMaps& explanation,
                       const models::Caption& caption) {
  const bool both_ways = explanation.method == "ig";
  models::DrawOptions draw = job.style.draw;
  draw.scale = both_ways ? models::Scale::signed_values : models::Scale::map;
  if (both_ways) {
    draw.colormap = models::Colormap::blue_red;
    draw.contours.clear();
  }
  for (size_t i = 0; i < explanation.words.size(); ++i) {
    const models::Grid grid = grid_of(explanation.words[i]);
    draw.range = models::range_of({grid}, draw.scale);
    if (!both_ways) draw.range->low = 0;
    const std::string& word = caption.words[i].text;
    models::Legend legend;
    legend.title = word;
    legend.detail =
        fmt::format("{}{}{}, {:.0f} % against", explanation.method, explanation.layer.empty() ? "" : " ",
                    explanation.layer, 100 * models::summarise(grid).against);
    legend.range = *draw.range;
    legend.scale = draw.scale;
    legend.colormap = draw.colormap;
    write_map(job, models::word_map_name(static_cast<int64_t>(i) + 1, word, explanation.method),
              explanation.method, grid, draw, legend);
  }
}

nlohmann::json style_json(const OverlayStyle& style) {
  const models::DrawOptions& draw = style.draw;
  const char* scales[] = {"lift", "map", "fixed", "signed"};
  return {{"colormap", models::name_of(draw.colormap)},
          {"blend", draw.blend == models::Blend::weight ? "weight" : "constant"},
          {"upsample", draw.upsample == models::Upsample::bilinear ? "bilinear" : "cells"},
          {"scale", scales[static_cast<size_t>(draw.scale)]},
          {"opacity", draw.opacity},
          {"gamma", draw.gamma},
          {"contours", draw.contours},
          {"grid", draw.grid},
          {"tile", style.tile},
          {"legend", style.legend}};
}

nlohmann::json caption_json(const models::Caption& caption) {
  nlohmann::json words = nlohmann::json::array();
  for (const models::CaptionWord& word : caption.words) {
    words.push_back({{"text", word.text}, {"log_probability", word.log_probability}});
  }
  return {{"text", caption.text},     {"log_probability", caption.log_probability},
          {"score", caption.score},   {"finished", caption.finished},
          {"tokens", caption.tokens}, {"words", std::move(words)}};
}

}  // namespace

models::Grid grid_of(const at::Tensor& map) {
  return {map.size(0), map.size(1), values_of(map)};
}

void write_overlay(const fs::path& folder, const std::string& picture_file, const models::Image& picture,
                   const ExplainedPicture& explained, const OverlayRun& run) {
  Output output(folder);
  models::Manifest manifest;
  const models::CaptionedImage& result = explained.result;
  const Job job{run, output, picture, result.geometry, run.style, manifest.maps};
  const models::Caption& caption = result.captions.front();
  if (run.words) write_words(job, caption);
  for (const models::CaptionMaps& explanation : explained.maps.front())
    write_explanation(job, explanation, caption);
  if (run.gates) write_gates(job, result.maps);
  if (run.report) {
    write_atomically(output.next("report.html"), overlay_report(picture_file, picture, explained, run));
  }

  manifest.version = GAZE_VERSION;
  manifest.model_file = run.model_file;
  manifest.model_sha256 = run.model_sha256;
  manifest.image_file = picture_file;
  manifest.exif_orientation = picture.exif_orientation;
  manifest.geometry = result.geometry;
  manifest.caption = caption_json(caption);
  manifest.options = run.options;
  manifest.options.update(style_json(run.style));
  write_atomically(output.next("manifest.json"),
                   to_json(manifest).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  output.keep();
}

}  // namespace gaze::apps
