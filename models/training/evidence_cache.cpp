#include "models/training/evidence_cache.h"

#include <torch/torch.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "modules/core/atomic_file.h"

namespace gaze::models {
namespace {

std::filesystem::path marker(const std::filesystem::path& path) {
  return path.string() + ".finished";
}

}  // namespace

EvidenceCache::EvidenceCache(const std::filesystem::path& path, std::string key, int64_t scenes,
                             int64_t cells, int64_t classes)
    : path_(path), key_(std::move(key)) {
  const int64_t count = scenes * cells * classes;
  std::error_code ignored;
  const bool same_size = std::filesystem::file_size(path, ignored) == static_cast<uintmax_t>(count * 2);
  if (!same_size || !finished()) std::filesystem::remove(marker(path), ignored);
  storage_ =
      torch::from_file(path.string(), /*shared=*/true, count, torch::kHalf).view({scenes, cells, classes});
}

bool EvidenceCache::finished() const {
  std::ifstream stream(marker(path_));
  return stream && std::string(std::istreambuf_iterator<char>(stream), {}) == key_;
}

void EvidenceCache::put(int64_t scene, const at::Tensor& evidence) {
  storage_[scene].copy_(evidence.flatten(1).t());  // [K, h, w] -> [S, K]
}

void EvidenceCache::finish() {
  write_atomically(marker(path_), key_);
}

at::Tensor EvidenceCache::get(const at::Tensor& scenes) const {
  return storage_.index_select(0, scenes).to(torch::kFloat);
}

at::Tensor EvidenceCache::get(const at::Tensor& scenes, const at::Tensor& cells) const {
  return storage_.index({scenes, cells}).to(torch::kFloat);
}

}  // namespace gaze::models
