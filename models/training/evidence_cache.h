// The frozen network's class evidence of every scene, computed once and kept in a mapped file.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace gaze::models {

// A file of N x [S, K] float16 logits (S cells row-major, K classes), mapped into memory.
class EvidenceCache {
 public:
  // Opens `path` if it was finished for the same `key` (what the evidence depends on) and holds exactly this
  // much, else starts it.
  EvidenceCache(const std::filesystem::path& path, std::string key, int64_t scenes, int64_t cells,
                int64_t classes);

  bool finished() const;                                // every scene is there
  void put(int64_t scene, const at::Tensor& evidence);  // [K, h, w] logits
  void finish();

  // scenes [B] int64 -> [B, S, K] float32
  at::Tensor get(const at::Tensor& scenes) const;
  // One cell of each: scenes [B], cells [B] -> [B, K] float32
  at::Tensor get(const at::Tensor& scenes, const at::Tensor& cells) const;

 private:
  std::filesystem::path path_;
  std::string key_;
  at::Tensor storage_;  // [N, S, K] float16
};

}  // namespace gaze::models
