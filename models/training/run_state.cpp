#include "models/training/run_state.h"

#include <torch/torch.h>

#include "models/checkpoint/safetensors.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

using AdamMoments = torch::optim::AdamWParamState;
using SgdMoments = torch::optim::SGDParamState;

const at::Tensor& find(const StateDict& tensors, const std::string& name, const at::Tensor& like) {
  const auto found = tensors.find(name);
  if (found == tensors.end() || found->second.sizes() != like.sizes()) {
    throw ArgumentError("[resume] expected " + name +
                        " as this recipe has it; got a state of another recipe");
  }
  return found->second;
}

void pack_moments(const torch::optim::OptimizerParamState& state, const std::string& name,
                  StateDict& tensors) {
  if (const auto* adam = dynamic_cast<const AdamMoments*>(&state)) {
    tensors["exp_avg/" + name] = adam->exp_avg().clone();
    tensors["exp_avg_sq/" + name] = adam->exp_avg_sq().clone();
    tensors["step/" + name] = torch::tensor({adam->step()}, torch::kLong);
  } else if (const auto* sgd = dynamic_cast<const SgdMoments*>(&state)) {
    tensors["momentum/" + name] = sgd->momentum_buffer().clone();
  }
}

// The moments of one parameter, or null where none were packed.
std::unique_ptr<torch::optim::OptimizerParamState> moments_of(const StateDict& tensors,
                                                              const std::string& name,
                                                              const at::Tensor& parameter) {
  if (const auto step = tensors.find("step/" + name); step != tensors.end()) {
    auto state = std::make_unique<AdamMoments>();
    state->step(step->second.item<int64_t>());
    state->exp_avg(find(tensors, "exp_avg/" + name, parameter).clone());
    state->exp_avg_sq(find(tensors, "exp_avg_sq/" + name, parameter).clone());
    return state;
  }
  if (tensors.count("momentum/" + name) == 0) return nullptr;
  auto state = std::make_unique<SgdMoments>();
  state->momentum_buffer(find(tensors, "momentum/" + name, parameter).clone());
  return state;
}

}  // namespace

void write_run_state(const std::filesystem::path& path, const RunState& state) {
  write_safetensors(path, {state.tensors, {{"progress", state.progress.dump()}}});
}

RunState read_run_state(const std::filesystem::path& path) {
  Safetensors content = read_safetensors(path);
  const auto progress = content.metadata.find("progress");
  if (progress == content.metadata.end()) {
    throw FileError(path.string(), "is not the state of a training run",
                    "give --out the folder of a run, or an empty one");
  }
  return {nlohmann::json::parse(progress->second), std::move(content.tensors)};
}

StateDict pack(const NamedModules& modules, const torch::optim::Optimizer& optimizer) {
  StateDict tensors;
  for (const auto& [prefix, module] : modules) {
    for (const auto& buffer : module->named_buffers())
      tensors[prefix + buffer.key()] = buffer.value().detach().clone();
    for (const auto& parameter : module->named_parameters()) {
      const std::string name = prefix + parameter.key();
      tensors[name] = parameter.value().detach().clone();
      const auto moments = optimizer.state().find(parameter.value().unsafeGetTensorImpl());
      if (moments != optimizer.state().end()) pack_moments(*moments->second, name, tensors);
    }
  }
  return tensors;
}

void unpack(const StateDict& tensors, const NamedModules& modules, torch::optim::Optimizer& optimizer) {
  const torch::NoGradGuard no_grad;
  for (const auto& [prefix, module] : modules) {
    for (auto& buffer : module->named_buffers())
      buffer.value().copy_(find(tensors, prefix + buffer.key(), buffer.value()));
    for (auto& parameter : module->named_parameters()) {
      const std::string name = prefix + parameter.key();
      parameter.value().copy_(find(tensors, name, parameter.value()));
      if (auto moments = moments_of(tensors, name, parameter.value()))
        optimizer.state()[parameter.value().unsafeGetTensorImpl()] = std::move(moments);
    }
  }
}

}  // namespace gaze::models
