#include "models/data/scene_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "models/data/for_each_index.h"
#include "models/data/mask_rle.h"
#include "modules/core/atomic_file.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kPart = "scenes.part.jsonl";  // a line of options, then a line a finished scene

json options_json(const SceneComposer& composer, const SceneFileOptions& files) {
  const SceneOptions& options = composer.options();
  return {{"split", split_text(options.split)},
          {"seed", options.seed},
          {"size", options.size},
          {"vary_aspect", options.vary_aspect},
          {"min_objects", options.min_objects},
          {"max_objects", options.max_objects},
          {"held_out", options.held_out},
          {"format", files.format},
          {"missing_grounds", composer.missing_grounds()}};
}

json triple(const SceneRelation& relation) {
  return {relation.first, relation.name, relation.second};
}

json scene_json(const Scene& scene, const std::string& image) {
  json objects = json::array();
  for (const SceneObject& object : scene.objects) {
    objects.push_back({{"noun", object.noun.singular},
                       {"plural", object.noun.plural},
                       {"article", object.noun.article},
                       {"stamp", object.stamp ? object.stamp->file : ""},
                       {"mask_rle",
                        {{"size", {scene.image.height, scene.image.width}},
                         {"counts", run_lengths(object.mask, scene.image.width, scene.image.height)}}}});
  }
  json relations = json::array();
  for (const SceneRelation& relation : scene.relations) relations.push_back(triple(relation));
  return {{"image", image},
          {"width", scene.image.width},
          {"height", scene.image.height},
          {"held_out", scene.held_out},
          {"objects", objects},
          {"relation", scene.relations.empty() ? json() : triple(scene.relations[0])},
          {"relations", relations},
          {"ground", scene.ground},
          {"captions", scene.captions}};
}

// What an interrupted run left; a torn last line is dropped.
std::vector<json> finished_scenes(const fs::path& folder, const json& options) {
  std::vector<json> scenes;
  std::ifstream part(folder / kPart);
  std::string line;
  if (!std::getline(part, line)) return scenes;
  if (json::parse(line, nullptr, false) != options) {
    throw FileError((folder / kPart).string(), "an interrupted run with other options is here",
                    "choose another folder, or delete this one");
  }
  while (std::getline(part, line)) {
    json scene = json::parse(line, nullptr, false);
    std::error_code ignored;
    if (scene.is_discarded() || part.eof() || !fs::exists(folder / scene.value("image", "none"), ignored))
      break;
    scenes.push_back(std::move(scene));
  }
  return scenes;
}

const Stamp* stamp_named(const std::string& file) {
  const auto& table = stamp_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Stamp& stamp) { return stamp.file == file; });
  return found == table.end() ? nullptr : &*found;
}

void write_coco(const std::vector<json>& scenes, const json& options, const fs::path& folder) {
  std::map<std::string, json> categories;  // by noun
  for (const json& scene : scenes) {
    for (const json& object : scene["objects"]) {
      const Stamp* stamp = stamp_named(object["stamp"]);
      categories[object["noun"]] = {{"name", object["noun"]},
                                    {"supercategory", stamp ? stamp->category : ""}};
    }
  }
  json category_list = json::array();
  for (auto& [noun, category] : categories) {
    category["id"] = category_list.size() + 1;
    category_list.push_back(category);
  }

  json images = json::array(), captions = json::array(), instances = json::array();
  for (const json& scene : scenes) {
    const size_t id = images.size() + 1;
    images.push_back({{"id", id},
                      {"file_name", fs::path(scene["image"].get<std::string>()).filename().string()},
                      {"width", scene["width"]},
                      {"height", scene["height"]}});
    for (const json& caption : scene["captions"]) {
      captions.push_back({{"id", captions.size() + 1}, {"image_id", id}, {"caption", caption}});
    }
    for (const json& object : scene["objects"]) {
      const int64_t width = scene["width"], height = scene["height"];
      const Extent extent =
          extent_of(mask_from_runs(object["mask_rle"]["counts"], width, height), width, height);
      instances.push_back({{"id", instances.size() + 1},
                           {"image_id", id},
                           {"category_id", categories[object["noun"]]["id"]},
                           {"segmentation", object["mask_rle"]},
                           {"area", extent.area},
                           {"bbox", {extent.x0, extent.y0, extent.x1 - extent.x0, extent.y1 - extent.y0}},
                           {"iscrowd", 0}});
    }
  }
  const json info = {{"description", "gaze scenes"}, {"options", options}};
  write_atomically(folder / "captions.json",
                   json{{"info", info}, {"images", images}, {"annotations", captions}}.dump());
  write_atomically(
      folder / "instances.json",
      json{{"info", info}, {"images", images}, {"annotations", instances}, {"categories", category_list}}
          .dump());
}

// Scenes first .. last - 1, composed and saved by `threads` threads.
std::vector<json> make_scenes(const SceneComposer& composer, const SceneFileOptions& options, int64_t first,
                              int64_t last, const fs::path& folder) {
  std::vector<json> made(static_cast<size_t>(last - first));
  for_each_index(last - first, options.threads, [&](int64_t i) {
    const Scene scene = composer.compose(static_cast<uint64_t>(first + i));
    const std::string name = fmt::format("images/{:06}.{}", first + i + 1, options.format);
    save_image(scene.image, folder / name);
    made[static_cast<size_t>(i)] = scene_json(scene, name);
  });
  return made;
}

}  // namespace

void write_scenes(const SceneComposer& composer, const SceneFileOptions& options, const fs::path& folder,
                  const SceneProgress& progress) {
  if (options.count < 1 || options.threads < 1) {
    throw ArgumentError(fmt::format("[scenes] expected count >= 1 and threads >= 1; got count {}, threads {}",
                                    options.count, options.threads));
  }
  std::error_code failed;
  if (fs::exists(folder / "scenes.json", failed)) {
    throw FileError(folder.string(), "finished scenes are already here",
                    "choose another folder, or delete this one");
  }
  fs::create_directories(folder / "images", failed);
  if (failed)
    throw FileError((folder / "images").string(), failed.message(), "choose a folder that can be written");

  const json header = options_json(composer, options);
  std::vector<json> scenes = finished_scenes(folder, header);
  scenes.resize(std::min(scenes.size(), static_cast<size_t>(options.count)));
  // Written anew, so that a torn line is gone.
  write_atomically(folder / kPart, [&](std::ostream& out) {
    out << header.dump() << '\n';
    for (const json& scene : scenes) out << scene.dump() << '\n';
  });
  std::ofstream part(folder / kPart, std::ios::app);
  while (static_cast<int64_t>(scenes.size()) < options.count) {
    const int64_t first = static_cast<int64_t>(scenes.size());
    const int64_t last = std::min(options.count, first + 8 * options.threads);
    for (json& scene : make_scenes(composer, options, first, last, folder)) {
      part << scene.dump() << '\n';
      scenes.push_back(std::move(scene));
    }
    if (!part.flush())
      throw FileError((folder / kPart).string(), "could not be written", "look whether the disk is full");
    if (progress) progress(last, options.count);
  }
  part.close();
  write_coco(scenes, header, folder);
  write_atomically(folder / "scenes.json", json(scenes).dump());
  fs::remove(folder / kPart, failed);
}

struct SceneFolder::Contents {
  fs::path folder;
  json scenes;
};

SceneFolder::SceneFolder(const fs::path& folder) : contents_(std::make_unique<Contents>()) {
  const fs::path file = folder / "scenes.json";
  std::ifstream stream(file);
  if (!stream)
    throw FileError(file.string(), "not found",
                    "make the folder with: gaze data scenes --out " + folder.string());
  contents_->folder = folder;
  contents_->scenes = json::parse(stream, nullptr, false);
  if (!contents_->scenes.is_array()) {
    throw FileError(file.string(), "not a list of scenes", "make the folder again with: gaze data scenes");
  }
}

SceneFolder::~SceneFolder() = default;

int64_t SceneFolder::size() const {
  return static_cast<int64_t>(contents_->scenes.size());
}

Scene SceneFolder::read(int64_t index) const {
  try {
    const json& row = contents_->scenes.at(static_cast<size_t>(index));
    Scene scene;
    scene.image = load_image(contents_->folder / row.at("image").get<std::string>());
    for (const json& object : row.at("objects")) {
      SceneObject read;
      read.noun = {object.at("noun"), object.at("plural"), object.at("article")};
      read.stamp = stamp_named(object.at("stamp"));
      read.mask = mask_from_runs(object.at("mask_rle").at("counts"), scene.image.width, scene.image.height);
      scene.objects.push_back(std::move(read));
    }
    for (const json& relation : row.at("relations"))
      scene.relations.push_back({relation.at(0), relation.at(1), relation.at(2)});
    scene.ground = row.at("ground");
    scene.captions = row.at("captions").get<std::vector<std::string>>();
    scene.held_out = row.at("held_out");
    return scene;
  } catch (const json::exception& error) {
    throw FileError((contents_->folder / "scenes.json").string(),
                    fmt::format("scene {}: {}", index, error.what()),
                    "make the folder again with: gaze data scenes");
  } catch (const ArgumentError& error) {
    throw FileError((contents_->folder / "scenes.json").string(),
                    fmt::format("scene {}: {}", index, error.what()),
                    "make the folder again with: gaze data scenes");
  }
}

}  // namespace gaze::models
