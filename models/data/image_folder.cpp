#include "models/data/image_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "models/data/for_each_index.h"
#include "models/image/picture_files.h"
#include "modules/core/error.h"
#include "modules/core/random.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSplit = 105;  // the random stream of the split
constexpr const char* kLayout = "put a folder a class into it, each with its pictures";
constexpr const char* kFormats = "JPEG, PNG, BMP, TIFF or WebP";

// The folders in `folder` by name.
std::vector<std::string> folders_in(const fs::path& folder) {
  std::error_code failed;
  if (!fs::exists(folder, failed)) throw FileError(folder.string(), "does not exist", "check the path");
  if (!fs::is_directory(folder, failed)) throw FileError(folder.string(), "is no folder", kLayout);
  std::vector<std::string> names;
  fs::directory_iterator entries(folder, failed);
  if (failed)
    throw FileError(folder.string(), "cannot be read (" + failed.message() + ")", "check its permissions");
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory(failed) && name.front() != '.') names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> classes_in(const fs::path& folder) {
  std::vector<std::string> classes = folders_in(folder);
  if (classes.empty()) throw FileError(folder.string(), "holds no class folders", kLayout);
  if (classes.size() == 1) {
    throw FileError(folder.string(), fmt::format("holds one class only, \"{}\"", classes[0]),
                    "a classifier needs a folder for each of two classes or more");
  }
  return classes;
}

// The pictures of every class.
std::vector<LabelledPicture> pictures_in(const fs::path& folder, const std::vector<std::string>& classes) {
  std::vector<LabelledPicture> pictures;
  std::vector<std::string> empty;
  for (size_t k = 0; k < classes.size(); ++k) {
    const std::vector<fs::path> found = pictures_below(folder / classes[k]);
    if (found.empty()) empty.push_back(classes[k]);
    for (const fs::path& file : found) pictures.push_back({file, static_cast<int64_t>(k)});
  }
  if (empty.size() == classes.size())
    throw FileError(folder.string(), "holds no pictures in its class folders",
                    fmt::format("put {} files into them", kFormats));
  if (!empty.empty()) {
    throw FileError((folder / empty[0]).string(), "this class holds no pictures",
                    fmt::format("put {} files into it, or remove the folder", kFormats));
  }
  return pictures;
}

// Why each picture cannot be read, or nothing.
std::vector<std::optional<std::string>> problems_of(const std::vector<LabelledPicture>& pictures,
                                                    const ImageFolderOptions& options,
                                                    const std::function<void(int64_t, int64_t)>& progress) {
  const auto count = static_cast<int64_t>(pictures.size());
  std::vector<std::optional<std::string>> problems(pictures.size());
  const auto read = [&](int64_t i) {
    try {
      load_image(pictures[static_cast<size_t>(i)].file, options.image);
    } catch (const std::exception& error) {
      problems[static_cast<size_t>(i)] = error.what();
    }
  };
  for_each_index(count, options.threads, read, [&](int64_t done) {
    if (progress) progress(done, count);
  });
  return problems;
}

// The readable pictures; the others' problems are added to `unreadable`.
std::vector<LabelledPicture> readable(const std::vector<LabelledPicture>& pictures, const fs::path& folder,
                                      const std::vector<std::string>& classes,
                                      const ImageFolderOptions& options,
                                      const std::function<void(int64_t, int64_t)>& progress,
                                      std::vector<std::string>& unreadable) {
  const auto problems = problems_of(pictures, options, progress);
  std::vector<LabelledPicture> kept;
  std::vector<int64_t> counts(classes.size(), 0);
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (problems[i]) {
      unreadable.push_back(*problems[i]);
    } else {
      kept.push_back(pictures[i]);
      ++counts[static_cast<size_t>(pictures[i].label)];
    }
  }
  const auto none = std::find(counts.begin(), counts.end(), 0);
  if (none != counts.end()) {
    throw FileError((folder / classes[static_cast<size_t>(none - counts.begin())]).string(),
                    fmt::format("this class holds no picture that can be read ({})", unreadable.front()),
                    fmt::format("put {} files into it, or remove the folder", kFormats));
  }
  return kept;
}

// A share of each class to `val`, the rest to `train`, drawn by seed and class.
void split(const std::vector<LabelledPicture>& pictures, const fs::path& folder,
           const ImageFolderOptions& options, ImageFolder& result) {
  for (size_t first = 0, last = 0; first < pictures.size(); first = last) {
    while (last < pictures.size() && pictures[last].label == pictures[first].label) ++last;
    const auto count = static_cast<int64_t>(last - first);
    const int64_t label = pictures[first].label;
    if (count < 2) {
      throw FileError((folder / result.classes[static_cast<size_t>(label)]).string(),
                      "this class holds one picture; one to train on and one to validate on are needed",
                      "add pictures, or give the folder train and val sub-folders");
    }
    std::vector<bool> validates(static_cast<size_t>(count), false);
    const int64_t wanted =
        std::clamp<int64_t>(std::llround(options.val_share * static_cast<double>(count)), 1, count - 1);
    Random random({options.seed, kSplit, static_cast<uint64_t>(label)});
    for (int64_t chosen = 0; chosen < wanted;) {
      const auto i = static_cast<size_t>(random.below(count));
      if (validates[i]) continue;
      validates[i] = true;
      ++chosen;
    }
    for (size_t i = first; i < last; ++i)
      (validates[i - first] ? result.val : result.train).push_back(pictures[i]);
  }
}

}  // namespace

ImageFolder read_image_folder(const fs::path& folder, const ImageFolderOptions& options,
                              const std::function<void(int64_t, int64_t)>& progress) {
  if (!(options.val_share > 0 && options.val_share < 1)) {
    throw ArgumentError(fmt::format("[image_folder] expected val_share between 0 and 1; got val_share {}",
                                    options.val_share));
  }
  const std::vector<std::string> top = folders_in(folder);
  const bool has_train = std::binary_search(top.begin(), top.end(), "train");
  const bool has_val = std::binary_search(top.begin(), top.end(), "val");
  ImageFolder result;
  result.image = options.image;
  const auto read = [&](const fs::path& part) {
    return readable(pictures_in(part, result.classes), part, result.classes, options, progress,
                    result.unreadable);
  };
  if (has_train && has_val) {
    result.classes = classes_in(folder / "train");
    const std::vector<std::string> validated = classes_in(folder / "val");
    std::vector<std::string> only;
    std::set_symmetric_difference(result.classes.begin(), result.classes.end(), validated.begin(),
                                  validated.end(), std::back_inserter(only));
    if (!only.empty()) {
      throw FileError(
          folder.string(),
          fmt::format("train and val hold different classes: only one of them has {}", fmt::join(only, ", ")),
          "give both the same class folders");
    }
    result.train = read(folder / "train");
    result.val = read(folder / "val");
    return result;
  }
  if (top.size() == 1 && (has_train || has_val)) {
    throw FileError(folder.string(), fmt::format("holds {} but no {}", top[0], has_train ? "val" : "train"),
                    has_train ? "add a folder val, or give the folder train itself, which is then split"
                              : "add a folder train");
  }
  result.classes = classes_in(folder);
  split(read(folder), folder, options, result);
  return result;
}

}  // namespace gaze::models
