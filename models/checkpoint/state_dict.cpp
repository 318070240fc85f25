#include "models/checkpoint/state_dict.h"

#include <fmt/format.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <utility>

#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr size_t kNamesShown = 8;

bool is_optional(const std::string& name) {
  static const std::string suffix = "num_batches_tracked";
  return name.size() >= suffix.size() &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

void add_line(std::string& text, const char* kind, const char* separator,
              const std::vector<std::string>& names) {
  if (names.empty()) return;
  if (!text.empty()) text += '\n';
  const size_t shown = std::min(names.size(), kNamesShown);
  text += fmt::format("{} ({}): {}", kind, names.size(),
                      fmt::join(names.begin(), names.begin() + shown, separator));
  if (shown < names.size()) text += fmt::format("{}and {} more", separator, names.size() - shown);
}

}  // namespace

std::string LoadReport::text() const {
  std::string text;
  add_line(text, "missing", ", ", missing);
  add_line(text, "unexpected", ", ", unexpected);
  add_line(text, "mis-shaped", "; ", mis_shaped);
  return text;
}

StateDict state_dict(const torch::nn::Module& module) {
  StateDict state;
  for (const auto& item : module.named_parameters()) {
    if (item.value().defined()) state.emplace(item.key(), item.value().detach());
  }
  for (const auto& item : module.named_buffers()) {
    if (item.value().defined()) state.emplace(item.key(), item.value().detach());
  }
  return state;
}

LoadReport load_state_dict(torch::nn::Module& module, const StateDict& state, Strictness strictness) {
  LoadReport report;
  const StateDict own = state_dict(module);
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;  // to, from
  for (const auto& [name, tensor] : own) {
    const auto found = state.find(name);
    if (found == state.end()) {
      if (!is_optional(name)) report.missing.push_back(name);
      continue;
    }
    const at::Tensor& given = found->second;
    if (!given.sizes().equals(tensor.sizes())) {
      report.mis_shaped.push_back(fmt::format("{}: expected {}, file has {}", name,
                                              shape_text(tensor.sizes()), shape_text(given.sizes())));
    } else if (given.is_complex() && !tensor.is_complex()) {
      report.mis_shaped.push_back(fmt::format("{}: expected real numbers, file has complex ones", name));
    } else {
      copies.emplace_back(tensor, given);
    }
  }
  for (const auto& item : state) {
    if (own.count(item.first) == 0) report.unexpected.push_back(item.first);
  }
  const bool refused = strictness == Strictness::strict ? !report.complete() : !report.mis_shaped.empty();
  if (refused) {
    throw ArgumentError(
        fmt::format("[load_state_dict] expected the tensors of the module; got others\n{}", report.text()));
  }
  const at::NoGradGuard no_grad;
  for (auto& [to, from] : copies) to.copy_(from);
  return report;
}

}  // namespace gaze::models
