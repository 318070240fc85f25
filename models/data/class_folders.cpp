#include "models/data/class_folders.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/data/for_each_index.h"
#include "models/data/scenes.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

// The nouns with the most training stamps; among equals the first by name.
std::vector<std::string> commonest_nouns(int64_t classes) {
  std::map<std::string, int64_t> counts;
  for (const Stamp& stamp : stamp_table()) {
    if (stamp.split == Split::train) ++counts[stamp.noun];
  }
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [noun, count] : counts) order.emplace_back(-count, noun);
  std::sort(order.begin(), order.end());
  if (classes < 2 || classes > static_cast<int64_t>(order.size())) {
    throw ArgumentError(
        fmt::format("[class_folders] expected 2 to {} classes; got classes {}", order.size(), classes));
  }
  std::vector<std::string> nouns;
  for (int64_t k = 0; k < classes; ++k) nouns.push_back(order[static_cast<size_t>(k)].second);
  return nouns;
}

// One picture that is to be written.
struct Job {
  const SceneComposer* composer;
  uint64_t index;
  fs::path file;
};

SceneComposer composer_of(const ClassFolderOptions& options, const std::string& noun, Split split) {
  SceneOptions scenes;
  scenes.split = split;
  scenes.seed = options.seed;
  scenes.size = options.size;
  scenes.min_objects = scenes.max_objects = 1;
  scenes.held_out = 0;
  scenes.close_ups = 0.5;
  scenes.nouns = {noun};
  scenes.folders = options.folders;
  return SceneComposer(scenes);
}

void write_all(const std::vector<Job>& jobs, int64_t threads, const SceneProgress& progress) {
  const auto count = static_cast<int64_t>(jobs.size());
  const auto write = [&](int64_t i) {
    const Job& job = jobs[static_cast<size_t>(i)];
    save_image(job.composer->compose(job.index).image, job.file);
  };
  for_each_index(count, threads, write, [&](int64_t done) {
    if (progress) progress(done, count);
  });
}

// Beside `folder`, under a name that is nobody's.
fs::path unfinished(const fs::path& folder) {
  return folder.parent_path() / fmt::format(".{}.part-{}", folder.filename().string(), ::getpid());
}

}  // namespace

void write_class_folders(const ClassFolderOptions& options, const fs::path& out,
                         const SceneProgress& progress) {
  const auto validated =
      static_cast<int64_t>(std::llround(options.val_share * static_cast<double>(options.count)));
  if (validated < 1 || validated >= options.count) {
    throw ArgumentError(
        fmt::format("[class_folders] expected a picture to train on and one to validate on; got {} and {}",
                    options.count - validated, validated));
  }
  const std::vector<std::string> nouns =
      options.nouns.empty() ? commonest_nouns(options.classes) : options.nouns;
  const fs::path folder = out.has_filename() ? out : out.parent_path();
  if (fs::exists(folder))
    throw FileError(folder.string(), "is already there", "choose another folder, or delete this one");

  // Renamed at the end: what is there is whole.
  const fs::path part = unfinished(folder);
  std::error_code failed;
  std::vector<SceneComposer> composers;
  std::vector<Job> jobs;
  composers.reserve(2 * nouns.size());
  for (const Split split : {Split::train, Split::val}) {
    const int64_t count = split == Split::val ? validated : options.count - validated;
    for (size_t k = 0; k < nouns.size(); ++k) {
      composers.push_back(composer_of(options, nouns[k], split));
      const fs::path place = part / split_text(split) / nouns[k];
      fs::create_directories(place, failed);
      if (failed) throw FileError(place.string(), failed.message(), "choose a folder that can be written");
      for (int64_t i = 0; i < count; ++i) {
        jobs.push_back({&composers.back(),
                        k * static_cast<uint64_t>(options.count) + static_cast<uint64_t>(i),
                        place / fmt::format("{:03}.jpg", i + 1)});
      }
    }
  }
  try {
    write_all(jobs, options.threads, progress);
  } catch (...) {
    fs::remove_all(part, failed);
    throw;
  }
  fs::rename(part, folder, failed);
  if (failed) throw FileError(folder.string(), failed.message(), "choose a folder that can be written");
}

}  // namespace gaze::models
