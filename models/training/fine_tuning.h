// Getting a network ready to be trained further: a head for other classes, which parameters learn and how
// fast.
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/backbone/backbone.h"

namespace gaze::models {

// The same network, blocks in its slots included, with its own copy of the weights. In evaluation mode.
std::shared_ptr<Backbone> copy_of(Backbone& network);

// A copy with a new head for `classes` classes, drawn from LibTorch's generator.
std::shared_ptr<Backbone> with_new_head(Backbone& network, int64_t classes);

// Names of the head's parameters: "fc.weight", "fc.bias".
std::vector<std::string> head_parameters(const Backbone& network);

// Names of the parameters of the blocks at `places` ("layer3.5.attn.0": slot and index). Throws ArgumentError
// for a place that is not there.
std::vector<std::string> block_parameters(Backbone& network, const std::vector<std::string>& places);

// Norm layers outside the slots: in evaluation they keep the statistics they have.
void set_norms_training(Backbone& network, bool training);

struct RateOptions {
  std::string optimizer = "adamw";  // or "sgd", with `momentum`
  std::vector<std::string> quick;   // names of the parameters that learn at `lr`; the others at `network_lr`
  double lr = 1e-3, network_lr = 1e-4;
  double momentum = 0.9;
  double weight_decay = 0;  // of kernels and matrices; biases, norms and scalars have none
};

// An optimizer of the parameters that learn (requires_grad). Throws ArgumentError for an unknown optimizer
// and where none learns.
std::unique_ptr<torch::optim::Optimizer> make_optimizer(Backbone& network, const RateOptions& options);

}  // namespace gaze::models
