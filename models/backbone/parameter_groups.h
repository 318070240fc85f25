// Which parameters learn, and how fast, by the patterns of name_pattern.h over their full names:
// "*.attn.*", "layer4.*", "{fc,_fc}.*".
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <string>
#include <vector>

namespace gaze::models {

// Makes the parameters whose names match learn, or not, and returns their names. Norms in evaluation mode
// keep their statistics, whatever their parameters do: that is train() and eval(). Throws ArgumentError where
// nothing matches, with the nearest names.
std::vector<std::string> freeze(torch::nn::Module& network, const std::string& pattern);
std::vector<std::string> unfreeze(torch::nn::Module& network, const std::string& pattern);

struct GroupOptions {
  std::string pattern;
  double lr = 1e-3;
};

// A group of the optimizer a pattern, in their order: the parameters whose names match and that no earlier
// pattern took, without frozen ones; `defaults` (AdamWOptions, SGDOptions ...) with the group's lr.
// Parameters that no pattern matches are in no group and stay as they are; end with {"*", lr} to take them
// all.
//
//   torch::optim::AdamWOptions defaults;
//   torch::optim::AdamW optimizer(parameter_groups(*network, {{"*.attn.*", 1e-3}, {"*", 1e-4}}, defaults));
//
// Throws ArgumentError for a pattern that matches nothing, for an lr that is not >= 0, and where nothing at
// all learns.
std::vector<torch::optim::OptimizerParamGroup> parameter_groups(
    torch::nn::Module& network, const std::vector<GroupOptions>& groups,
    const torch::optim::OptimizerOptions& defaults);

}  // namespace gaze::models
