// Everything a training run needs to go on after it was killed, in one safetensors file.
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "models/checkpoint/state_dict.h"

namespace gaze::models {

// The trained tensors, the optimizer's moments, and the counters. Randomness needs no state: every step draws
// from (seed, step).
struct RunState {
  nlohmann::json progress;  // {"stage", "step", "best", "recipe" ...}: the loop's own
  StateDict tensors;
};

void write_run_state(const std::filesystem::path& path, const RunState& state);
RunState read_run_state(const std::filesystem::path& path);  // throws FileError

// The parameters and buffers of `modules` that are trained here (name prefix, module), and the optimizer's
// moments (AdamW's or SGD's) of every parameter among them that it steps.
using NamedModules = std::vector<std::pair<std::string, std::shared_ptr<torch::nn::Module>>>;
StateDict pack(const NamedModules& modules, const torch::optim::Optimizer& optimizer);

// The reverse; bit-exact. Throws FileError-style ArgumentError when a tensor is missing or has another shape.
void unpack(const StateDict& tensors, const NamedModules& modules, torch::optim::Optimizer& optimizer);

}  // namespace gaze::models
