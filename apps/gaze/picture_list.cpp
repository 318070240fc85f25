#include "apps/gaze/picture_list.h"

#include <iostream>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "apps/gaze/path_pattern.h"
#include "models/image/picture_files.h"
#include "modules/core/error.h"

namespace gaze::apps {
namespace {

namespace fs = std::filesystem;

void add(const fs::path& path, std::vector<fs::path>& pictures) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    pictures.push_back(path);
    return;
  }
  const std::vector<fs::path> found = models::pictures_below(path);
  pictures.insert(pictures.end(), found.begin(), found.end());
}

void add_listed(std::istream& list, char separator, std::vector<fs::path>& pictures) {
  for (std::string path; std::getline(list, path, separator);) {
    if (separator == '\n' && !path.empty() && path.back() == '\r') path.pop_back();
    if (!path.empty()) add(path, pictures);
  }
}

}  // namespace

std::vector<fs::path> expand_pictures(const std::vector<std::string>& paths, char separator) {
  std::vector<fs::path> pictures;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (path == "-") {
      add_listed(std::cin, separator, pictures);
      continue;
    }
    std::vector<fs::path> found;
    if (is_pattern(path) && !fs::exists(path, ignored)) found = files_matching(path);
    if (found.empty()) found.emplace_back(path);
    for (const fs::path& each : found) add(each, pictures);
  }
  return pictures;
}

std::vector<fs::path> some_pictures(const std::vector<std::string>& paths, char separator) {
  std::vector<fs::path> pictures = expand_pictures(paths, separator);
  if (!pictures.empty()) return pictures;
  if (paths.front() == "-") throw FileError("-", "lists no pictures", "give a path a line");
  throw FileError(paths.front(), "holds no pictures", "give JPEG, PNG, BMP, TIFF or WebP files");
}

int64_t remove_repeats(std::vector<fs::path>& pictures) {
  const std::vector<fs::path> all = std::exchange(pictures, {});
  std::unordered_set<std::string> seen;
  for (const fs::path& path : all) {
    if (seen.insert(path.string()).second) pictures.push_back(path);
  }
  return static_cast<int64_t>(all.size() - pictures.size());
}

}  // namespace gaze::apps
