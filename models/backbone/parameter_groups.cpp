#include "models/backbone/parameter_groups.h"

#include <fmt/format.h>

#include <utility>

#include "models/backbone/name_pattern.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

struct NamedParameters {
  NameList list;
  std::vector<torch::Tensor> values;
};

NamedParameters parameters_of(torch::nn::Module& network, const char* op) {
  NamedParameters all{{op, "parameter", {}, {}}, {}};
  for (const auto& item : network.named_parameters()) {
    all.list.names.push_back(item.key());
    all.values.push_back(item.value());
  }
  return all;
}

std::vector<std::string> set_learning(torch::nn::Module& network, const std::string& pattern, const char* op,
                                      bool learns) {
  NamedParameters all = parameters_of(network, op);
  std::vector<std::string> names;
  for (const size_t i : match_names(all.list, pattern)) {
    all.values[i].set_requires_grad(learns);
    names.push_back(all.list.names[i]);
  }
  return names;
}

}  // namespace

std::vector<std::string> freeze(torch::nn::Module& network, const std::string& pattern) {
  return set_learning(network, pattern, "freeze", false);
}

std::vector<std::string> unfreeze(torch::nn::Module& network, const std::string& pattern) {
  return set_learning(network, pattern, "unfreeze", true);
}

std::vector<torch::optim::OptimizerParamGroup> parameter_groups(
    torch::nn::Module& network, const std::vector<GroupOptions>& groups,
    const torch::optim::OptimizerOptions& defaults) {
  const NamedParameters all = parameters_of(network, "parameter_groups");
  std::vector<bool> taken(all.values.size());
  std::vector<torch::optim::OptimizerParamGroup> made;
  size_t learning = 0;
  for (const GroupOptions& group : groups) {
    check_that(group.lr >= 0, "parameter_groups", "lr >= 0", fmt::format("lr {}", group.lr));
    std::vector<torch::Tensor> members;
    for (const size_t i : match_names(all.list, group.pattern)) {
      if (!taken[i] && all.values[i].requires_grad()) members.push_back(all.values[i]);
      taken[i] = true;
    }
    learning += members.size();
    std::unique_ptr<torch::optim::OptimizerOptions> options = defaults.clone();
    options->set_lr(group.lr);
    made.emplace_back(std::move(members), std::move(options));
  }
  check_that(learning > 0, "parameter_groups", "a parameter that learns", "only frozen ones");
  return made;
}

}  // namespace gaze::models
