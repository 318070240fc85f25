// Where the files of an overlay go. Includes no torch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gaze::models {

// A map's name as a file's, without extension: "/" becomes "__", what a file system may not like becomes "_".
std::string map_file_name(const std::string& map_name);

// "word/03_dog" for the third word, counted from 1; "gradcam/03_dog" for a map of another kind.
std::string word_map_name(int64_t number, const std::string& word, const std::string& kind = "word");

// For each picture the folder, relative to the output folder, that its files go to: its own path without
// extension. Paths that are absolute or lead upwards are taken from the folder they share. Two pictures never
// get the same folder: those that differ in their extension alone keep it ("cat_jpg", "cat_png").
std::vector<std::filesystem::path> picture_folders(const std::vector<std::filesystem::path>& pictures);

}  // namespace gaze::models
