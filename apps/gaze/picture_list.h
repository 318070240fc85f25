// Which pictures a command line means.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gaze::apps {

// Files as they are; folders searched for pictures by extension (recursively, sorted); of a pattern that is
// no file's name (path_pattern.h) what it matches; of "-" the paths on standard input, each ended by
// `separator`, files or folders. A path or pattern that leads nowhere is kept, so that it is reported as the
// picture that failed.
std::vector<std::filesystem::path> expand_pictures(const std::vector<std::string>& paths,
                                                   char separator = '\n');

// expand_pictures() for a command that cannot do without: throws FileError where it finds none.
std::vector<std::filesystem::path> some_pictures(const std::vector<std::string>& paths,
                                                 char separator = '\n');

// Leaves each path's first; returns how many were removed. Other spellings of a path are other paths.
int64_t remove_repeats(std::vector<std::filesystem::path>& pictures);

}  // namespace gaze::apps
