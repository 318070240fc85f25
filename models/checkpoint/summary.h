// What a file of tensors is, told without a network: names, types, shapes, and whose names they look like.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/checkpoint/state_dict.h"

namespace gaze::models {

struct TensorSummary {
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> shape;
};
using TensorSummaries = std::map<std::string, TensorSummary>;

struct CheckpointSummary {
  CheckpointFormat format = CheckpointFormat::safetensors;
  uint64_t file_bytes = 0;
  TensorSummaries tensors;
  int64_t parameters = 0;                       // numbers in tensors other than a norm's running statistics
  std::map<std::string, int64_t> dtypes;        // "float32" -> tensors of that type
  std::string looks_like;                       // see looks_like()
  int64_t classes = 0;                          // rows of the class head; 0 where there is none
  std::optional<nlohmann::json> description;    // of a model file
  std::map<std::string, std::string> metadata;  // of safetensors
};

// Of safetensors only the header is read. Throws FileError.
CheckpointSummary summarize_checkpoint(const std::filesystem::path& path);

// "timm resnet50 with se in 16 slots" (KeyPlan::network) for what gaze can load; otherwise "torchvision
// resnet26", "timm EfficientNet", "CLIP": whose network has tensors of these names and shapes, as far as they
// tell; empty where they do not.
std::string looks_like(const TensorSummaries& tensors);

// Rows of the weight of the class head, under the names the ecosystems give it; 0 where there is none.
int64_t class_count(const TensorSummaries& tensors);

}  // namespace gaze::models
