#include "modules/core/attention_map.h"

#include <utility>

namespace gaze {
namespace {

thread_local MapRecorder* current_recorder = nullptr;
thread_local std::string current_place;

}  // namespace

MapRecorder::MapRecorder() : outer_(current_recorder) {
  current_recorder = this;
}

MapRecorder::~MapRecorder() {
  current_recorder = outer_;
}

MapRecorder* MapRecorder::current() {
  return current_recorder;
}

void MapRecorder::file(const std::string& leaf, AttentionMap::Kind kind, const at::Tensor& values) {
  const std::string name = current_place.empty() ? leaf : current_place + "/" + leaf;
  maps_.push_back({name, kind, values.detach().to(at::kFloat)});
}

MapPlace::MapPlace(std::string name) : outer_(std::exchange(current_place, std::move(name))) {}

MapPlace::~MapPlace() {
  current_place = std::move(outer_);
}

}  // namespace gaze
