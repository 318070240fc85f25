#include "models/training/run_state.h"

#include <torch/torch.h>

#include "models/checkpoint/safetensors.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

using Moments = torch::optim::AdamWParamState;

const at::Tensor& find(const StateDict& tensors, const std::string& name, const at::Tensor& like) {
  const auto found = tensors.find(name);
  if (found == tensors.end() || found->second.sizes() != like.sizes()) {
    throw ArgumentError("[resume] expected " + name +
                        " as this recipe has it; got a state of another recipe");
  }
  return found->second;
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

StateDict pack(const NamedModules& modules, const torch::optim::AdamW& optimizer) {
  StateDict tensors;
  for (const auto& [prefix, module] : modules) {
    for (const auto& buffer : module->named_buffers())
      tensors[prefix + buffer.key()] = buffer.value().detach().clone();
    for (const auto& parameter : module->named_parameters()) {
      const std::string name = prefix + parameter.key();
      tensors[name] = parameter.value().detach().clone();
      const auto moments = optimizer.state().find(parameter.value().unsafeGetTensorImpl());
      if (moments == optimizer.state().end()) continue;
      const auto& state = static_cast<const Moments&>(*moments->second);
      tensors["exp_avg/" + name] = state.exp_avg().clone();
      tensors["exp_avg_sq/" + name] = state.exp_avg_sq().clone();
      tensors["step/" + name] = torch::tensor({state.step()}, torch::kLong);
    }
  }
  return tensors;
}

void unpack(const StateDict& tensors, const NamedModules& modules, torch::optim::AdamW& optimizer) {
  const torch::NoGradGuard no_grad;
  for (const auto& [prefix, module] : modules) {
    for (auto& buffer : module->named_buffers())
      buffer.value().copy_(find(tensors, prefix + buffer.key(), buffer.value()));
    for (auto& parameter : module->named_parameters()) {
      const std::string name = prefix + parameter.key();
      parameter.value().copy_(find(tensors, name, parameter.value()));
      const auto step = tensors.find("step/" + name);
      if (step == tensors.end()) continue;
      auto state = std::make_unique<Moments>();
      state->step(step->second.item<int64_t>());
      state->exp_avg(find(tensors, "exp_avg/" + name, parameter.value()).clone());
      state->exp_avg_sq(find(tensors, "exp_avg_sq/" + name, parameter.value()).clone());
      optimizer.state()[parameter.value().unsafeGetTensorImpl()] = std::move(state);
    }
  }
}

}  // namespace gaze::models
