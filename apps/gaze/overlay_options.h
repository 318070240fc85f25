// What `gaze overlay` is asked for: its flags.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/gaze/command.h"
#include "apps/gaze/network_source.h"
#include "apps/gaze/overlay_files.h"
#include "apps/gaze/search_options.h"
#include "models/explain/caption_maps.h"
#include "models/image/image.h"

namespace gaze::apps {

struct OverlayCommand {
  std::vector<std::string> paths;
  std::filesystem::path out;
  NetworkSource source;
  std::vector<std::string> maps = {"cross"};
  models::CaptionMapsOptions explain;  // layer and steps; the methods are among `maps`
  bool list_layers = false;
  std::vector<std::string> formats = {"png", "npy"};
  std::vector<double> contours;  // in percent
  SearchFlags search;
  models::ImageOptions image;
  OverlayStyle style;
  std::string colormap = "viridis";
  bool no_legend = false, json = false;
  CommonOptions common;
};

// Adds every flag of it.
void add_overlay_options(CLI::App& sub, OverlayCommand& command);

}  // namespace gaze::apps
