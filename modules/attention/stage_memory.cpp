#include "modules/attention/stage_memory.h"

#include <utility>

#include "modules/core/check.h"

namespace gaze {
namespace {

thread_local StageMemory* current_memory = nullptr;

}  // namespace

StageMemory::StageMemory() : outer_(std::exchange(current_memory, this)) {}

StageMemory::~StageMemory() {
  current_memory = outer_;
}

StageMemory* StageMemory::current() {
  return current_memory;
}

void StageMemory::put(const std::string& stage, torch::Tensor output) {
  outputs_[stage] = std::move(output);
}

const torch::Tensor& StageMemory::get(const std::string& stage) const {
  const auto found = outputs_.find(stage);
  if (found != outputs_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, output] : outputs_) known.push_back(name);
  fail_unknown("slot", "stage", stage, known);
}

}  // namespace gaze
