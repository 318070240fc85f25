#include "models/data/photographs.h"

#include <cstdlib>

namespace gaze::models {

namespace fs = std::filesystem;

fs::path bundled_photographs() {
  if (const char* chosen = std::getenv("GAZE_PHOTOS")) return chosen;
  std::error_code ignored;
  const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& folder : {beside / "../share/gaze/photos", beside / "../../../tests/photos"}) {
    if (fs::is_directory(folder, ignored)) return fs::canonical(folder);
  }
  return {};
}

fs::path photograph_file(const Photograph& photograph, const DataFolders& folders) {
  if (photograph.bundled) {
    const fs::path folder = folders.bundled.empty() ? bundled_photographs() : folders.bundled;
    return folder / fs::path(photograph.file).filename();
  }
  return folders.root / fs::path(photograph.path).relative_path();
}

fs::path stamps_folder(const DataFolders& folders) {
  return folders.root / "usr/share/tuxpaint/stamps";
}

}  // namespace gaze::models
