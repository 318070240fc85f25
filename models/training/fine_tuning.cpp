#include "models/training/fine_tuning.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "models/backbone/classifier_file.h"
#include "models/backbone/load_backbone.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

// Names of the parameters of `network` that are among `some`.
std::vector<std::string> names_of(const Backbone& network, const std::vector<torch::Tensor>& some) {
  std::set<const void*> wanted;
  for (const torch::Tensor& parameter : some) wanted.insert(parameter.unsafeGetTensorImpl());
  std::vector<std::string> names;
  for (const auto& item : network.named_parameters()) {
    if (wanted.count(item.value().unsafeGetTensorImpl()) > 0) names.push_back(item.key());
  }
  return names;
}

std::unique_ptr<torch::optim::OptimizerOptions> group_options(const RateOptions& options, double lr,
                                                              double weight_decay) {
  if (options.optimizer == "sgd") {
    return std::make_unique<torch::optim::SGDOptions>(
        torch::optim::SGDOptions(lr).momentum(options.momentum).weight_decay(weight_decay));
  }
  return std::make_unique<torch::optim::AdamWOptions>(
      torch::optim::AdamWOptions(lr).weight_decay(weight_decay));
}

}  // namespace

std::shared_ptr<Backbone> copy_of(Backbone& network) {
  return load_backbone(classifier_file(network, network.preprocessing(), {}, nlohmann::json::object()));
}

std::vector<std::string> head_parameters(const Backbone& network) {
  std::vector<std::string> names;
  for (const auto& item : network.named_parameters()) {
    for (const char* head : {"fc.weight", "fc.bias", "_fc.weight", "_fc.bias"}) {
      if (item.key() == head) names.push_back(item.key());
    }
  }
  return names;
}

std::shared_ptr<Backbone> with_new_head(Backbone& network, int64_t classes) {
  ModelFile model = classifier_file(network, network.preprocessing(), {}, nlohmann::json::object());
  model.description["backbone"]["options"]["classes"] = classes;
  const torch::nn::Linear head(network.channels(), classes);
  for (const std::string& name : head_parameters(network)) {
    const bool weight = name.find("weight") != std::string::npos;
    model.weights["backbone." + name] = (weight ? head->weight : head->bias).detach();
  }
  return load_backbone(model);
}

std::vector<std::string> block_parameters(Backbone& network, const std::vector<std::string>& places) {
  std::vector<torch::Tensor> parameters;
  std::set<std::string> missing(places.begin(), places.end());
  for (const Slot& slot : network.slots()) {
    for (size_t i = 0; i < slot->blocks().size(); ++i) {
      const std::string place = fmt::format("{}.{}", slot->full_name(), i);
      if (missing.erase(place) == 0) continue;
      for (const torch::Tensor& parameter : slot->blocks()[i]->parameters()) parameters.push_back(parameter);
    }
  }
  check_that(missing.empty(), "fine_tuning", "blocks that are in the network's slots",
             missing.empty() ? "" : *missing.begin());
  return names_of(network, parameters);
}

void set_norms_training(Backbone& network, bool training) {
  std::set<const torch::nn::Module*> in_slots;
  for (const Slot& slot : network.slots()) {
    for (const auto& module : slot->modules()) in_slots.insert(module.get());
  }
  for (const auto& module : network.modules()) {
    if (in_slots.count(module.get()) == 0 && module->as<torch::nn::BatchNorm2d>() != nullptr)
      module->train(training);
  }
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(Backbone& network, const RateOptions& options) {
  const std::set<std::string> quick(options.quick.begin(), options.quick.end());
  // quick matrices, quick vectors, the rest's matrices, the rest's vectors
  std::array<std::vector<torch::Tensor>, 4> members;
  for (const auto& item : network.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    const size_t rest = quick.count(item.key()) > 0 ? 0 : 2, vector = item.value().dim() > 1 ? 0 : 1;
    members[rest + vector].push_back(item.value());
  }
  std::vector<torch::optim::OptimizerParamGroup> groups;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].empty()) continue;
    groups.emplace_back(std::move(members[i]), group_options(options, i < 2 ? options.lr : options.network_lr,
                                                             i % 2 == 0 ? options.weight_decay : 0));
  }
  check_that(!groups.empty(), "fine_tuning", "a parameter that learns", "only frozen ones");
  if (options.optimizer == "sgd")
    return std::make_unique<torch::optim::SGD>(groups, torch::optim::SGDOptions(options.lr));
  if (options.optimizer == "adamw") return std::make_unique<torch::optim::AdamW>(groups);
  fail_unknown("fine_tuning", "optimizer", options.optimizer, {"adamw", "sgd"});
}

}  // namespace gaze::models
