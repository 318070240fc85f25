#include "models/overlay/output_names.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 120;

bool leads_out(const fs::path& path) {
  return path.is_absolute() || (!path.empty() && *path.begin() == "..");
}

// The folder that all of `paths` share.
fs::path common_folder(const std::vector<fs::path>& paths) {
  fs::path common = paths.front().parent_path();
  for (const fs::path& path : paths) {
    const auto [end, ignored] = std::mismatch(common.begin(), common.end(), path.begin(), path.end());
    fs::path shared;
    for (auto part = common.begin(); part != end; ++part) shared /= *part;
    common = shared;
  }
  return common;
}

}  // namespace

std::string map_file_name(const std::string& map_name) {
  std::string name;
  for (const char c : map_name) {
    if (c == '/') {
      name += "__";
    } else if (static_cast<unsigned char>(c) < 32 || c == 127 ||
               std::string("\\:*?\"<>| ").find(c) != std::string::npos) {
      name += '_';
    } else {
      name += c;
    }
  }
  if (name.size() > kLongestName) {
    size_t end = kLongestName;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80)
      --end;  // not inside a UTF-8 letter
    name.erase(end);
  }
  return name;
}

std::string word_map_name(int64_t number, const std::string& word, const std::string& kind) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%02lld", static_cast<long long>(number));
  std::string clean = word;
  std::replace(clean.begin(), clean.end(), '/', '_');
  return kind + "/" + digits + "_" + clean;
}

std::vector<fs::path> picture_folders(const std::vector<fs::path>& pictures) {
  std::vector<fs::path> folders, outside;
  for (const fs::path& picture : pictures) {
    folders.push_back(picture.lexically_normal());
    if (leads_out(folders.back())) outside.push_back(fs::absolute(picture).lexically_normal());
  }
  const fs::path common = outside.empty() ? fs::path() : common_folder(outside);
  std::map<fs::path, int> uses;
  for (fs::path& folder : folders) {
    if (leads_out(folder)) folder = fs::absolute(folder).lexically_normal().lexically_relative(common);
    ++uses[fs::path(folder).replace_extension()];
  }
  std::map<fs::path, int> taken;
  for (fs::path& folder : folders) {
    const fs::path plain = fs::path(folder).replace_extension();
    if (uses[plain] > 1 && folder.has_extension()) {
      folder = plain.string() + "_" + folder.extension().string().substr(1);
    } else {
      folder = plain;
    }
    const int before = taken[folder]++;
    if (before > 0) folder += "_" + std::to_string(before + 1);
  }
  return folders;
}

}  // namespace gaze::models
