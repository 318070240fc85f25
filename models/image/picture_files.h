// Which files of a folder are pictures. Includes no torch and no OpenCV.
#pragma once

#include <filesystem>
#include <vector>

namespace gaze::models {

// Whether the name ends like those of the formats that load_image() reads.
bool has_picture_name(const std::filesystem::path& path);

// The pictures in `folder` and the folders in it, sorted; names that start with a dot are passed over, and so
// is what may not be read.
std::vector<std::filesystem::path> pictures_below(const std::filesystem::path& folder);

}  // namespace gaze::models
