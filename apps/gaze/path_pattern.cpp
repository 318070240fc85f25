#include "apps/gaze/path_pattern.h"

#include <fnmatch.h>

#include <algorithm>
#include <system_error>

namespace gaze::apps {
namespace {

namespace fs = std::filesystem;
using Parts = std::vector<std::string>;

bool is_hidden(const fs::path& path) {
  return path.filename().string().front() == '.';
}

// What is in a folder; nothing where that may not be read.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  auto entry = fs::directory_iterator(folder.empty() ? fs::path(".") : folder, ignored);
  for (; entry != fs::directory_iterator(); entry.increment(ignored)) {
    found.push_back(folder / entry->path().filename());
  }
  return found;
}

// Adds what parts[i], parts[i + 1] ... name below `folder`.
void match(const fs::path& folder, const Parts& parts, size_t i, std::vector<fs::path>& found) {
  std::error_code ignored;
  if (i == parts.size()) {
    if (fs::exists(folder, ignored)) found.push_back(folder);
  } else if (parts[i] == "**") {
    match(folder, parts, i + 1, found);
    if (i + 1 == parts.size()) return;
    for (const fs::path& entry : entries(folder)) {
      const bool folder_itself = fs::is_directory(fs::symlink_status(entry, ignored));
      if (folder_itself && !is_hidden(entry)) match(entry, parts, i, found);
    }
  } else if (is_pattern(parts[i])) {
    for (const fs::path& entry : entries(folder)) {
      const std::string name = entry.filename().string();
      if (::fnmatch(parts[i].c_str(), name.c_str(), FNM_PERIOD) == 0) match(entry, parts, i + 1, found);
    }
  } else {
    match(folder / parts[i], parts, i + 1, found);
  }
}

}  // namespace

bool is_pattern(const std::string& text) {
  return text.find_first_of("*?[") != std::string::npos;
}

std::vector<fs::path> files_matching(const std::string& pattern) {
  Parts parts;
  for (const fs::path& part : fs::path(pattern)) {
    const bool again = part == "**" && !parts.empty() && parts.back() == "**";
    if (!again) parts.push_back(part.string());
  }
  std::vector<fs::path> found;
  match({}, parts, 0, found);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace gaze::apps
