// File names by pattern, as a shell has them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gaze::apps {

// Whether the text has one of * ? [.
bool is_pattern(const std::string& text);

// The files and folders that a pattern names, sorted: in each part of the path * stands for any characters, ?
// for one, [a-z] for one of these (fnmatch(3)); the part ** stands for any number of folders, those behind
// links aside, and at the end for the folder itself. Names that start with a dot match only a part that does.
std::vector<std::filesystem::path> files_matching(const std::string& pattern);

}  // namespace gaze::apps
