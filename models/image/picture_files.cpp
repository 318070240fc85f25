#include "models/image/picture_files.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <system_error>

namespace gaze::models {

namespace fs = std::filesystem;

bool has_picture_name(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static const std::vector<std::string> known = {".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp"};
  return std::find(known.begin(), known.end(), extension) != known.end();
}

std::vector<fs::path> pictures_below(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  auto entry =
      fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, ignored);
  for (; entry != fs::recursive_directory_iterator(); entry.increment(ignored)) {
    const fs::path& path = entry->path();
    if (path.filename().string().front() == '.') {
      if (entry->is_directory(ignored)) entry.disable_recursion_pending();
    } else if (entry->is_regular_file(ignored) && has_picture_name(path)) {
      found.push_back(path);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace gaze::models
