// Checkpoints of other ecosystems as networks of gaze.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "models/checkpoint/key_plan.h"
#include "models/checkpoint/model_file.h"
#include "models/checkpoint/state_dict.h"

namespace gaze::models {

// The tensor after the change, sharing its memory where it can.
at::Tensor changed(const at::Tensor& tensor, KeyPlan::Change change);

struct MappedNetwork {
  KeyPlan plan;
  StateDict weights;  // by gaze's names, each with the file's dtype
};

// Throws as plan_keys does.
MappedNetwork map_keys(const StateDict& state);

// read_state_dict and map_keys. Throws FileError; for a model file of gaze one that says so.
MappedNetwork read_network(const std::filesystem::path& path);

// As a model file that classifies: names under "backbone.", float16 kept and every other float made float32,
// counters of batches left out. Preprocessing is empty, stride and labels are absent.
ModelFile model_of(const MappedNetwork& mapped);

// What was done: a line each for the network, keys renamed, planes swapped, tensors reshaped, keys dropped.
std::string report_text(const KeyPlan& plan);
// {recognised, backbone, options, slots, renamed: {from: to}, swapped: [to], reshaped: [to], dropped: [from]}
nlohmann::json report_json(const KeyPlan& plan);

}  // namespace gaze::models
