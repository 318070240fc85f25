#include "modules/attention/cross.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "modules/attention/stage_memory.h"
#include "modules/core/check.h"

namespace gaze {
namespace {

CrossOptions checked(const CrossOptions& options) {
  check_that(options.channels >= 1, "cross", "channels >= 1", fmt::format("channels {}", options.channels));
  check_that(!options.memory.empty(), "cross", "memory=an earlier stage", "none");
  check_that(options.memory_channels >= 1, "cross", "memory_channels >= 1",
             fmt::format("memory_channels {}", options.memory_channels));
  return options;
}

const StageWidth& earlier_stage(const std::string& name, const SlotPlace& place) {
  const auto has_name = [&](const StageWidth& stage) { return stage.name == name; };
  const auto found = std::find_if(place.earlier.begin(), place.earlier.end(), has_name);
  if (found != place.earlier.end()) return *found;
  std::vector<std::string> names;
  for (const StageWidth& stage : place.earlier) names.push_back(stage.name);
  check_that(false, "cross",
             fmt::format("memory=a stage that ends before {} ({})", place.name,
                         names.empty() ? "there is none" : fmt::format("{}", fmt::join(names, ", "))),
             name.empty() ? "no memory" : "memory=" + name);
  return place.earlier.front();
}

}  // namespace

CrossImpl::CrossImpl(const CrossOptions& options)
    : CellBlock(checked(options), options.memory_channels, kCard.name), options_(options) {
  if (options_.width == 0) options_.width = options_.channels;
}

torch::Tensor CrossImpl::forward(const torch::Tensor& x) {
  check_shape(x, "x", {"B", {"C", options_.channels}, "H", "W"}, kCard.name);
  const StageMemory* const stages = StageMemory::current();
  if (stages == nullptr) {
    check_that(false, kCard.name,
               fmt::format("a StageMemory with the stage {} around forward", options_.memory), "none");
  }
  const torch::Tensor& memory = stages->get(options_.memory);
  check_shape(memory, options_.memory, {{"B", x.size(0)}, {"C", options_.memory_channels}, "H", "W"},
              kCard.name);
  check_like(memory, options_.memory, x, "x", kCard.name);
  return add_attended(x, detail::cells_of(x), detail::cells_of(memory));
}

std::string CrossImpl::spec() const {
  CrossOptions now = options_, usual;
  detail::leave_out_usual_width(now);
  return spec_options(now).write(spec_options(usual));
}

int64_t CrossImpl::macs(int64_t height, int64_t width) const {
  const auto scaled = [&](int64_t side) {
    return std::llround(static_cast<double>(side) * options_.memory_scale);
  };
  return attention_macs(height * width, scaled(height) * scaled(width));
}

void CrossImpl::pretty_print(std::ostream& stream) const {
  CrossOptions now = options_;
  stream << fmt::format("gaze::Cross(channels={}, memory_channels={}, {})", options_.channels,
                        options_.memory_channels, spec_options(now).values());
}

SpecOptions CrossImpl::spec_options(CrossOptions& options) {
  SpecOptions list(kCard.name);
  list.word("memory", options.memory, "the stage that is looked at, one that ends before the slot");
  detail::add_cell_options(list, options);
  list.init(options.init);
  return list;
}

std::shared_ptr<AttentionBlock> CrossImpl::from_spec(const BlockSpec& spec, const SlotPlace& place,
                                                     Init init) {
  CrossOptions options;
  options.channels = place.channels;
  options.init = init;
  spec_options(options).read(spec);
  const StageWidth& stage = earlier_stage(options.memory, place);
  options.memory_channels = stage.channels;
  if (place.step > 0 && stage.step > 0)
    options.memory_scale = static_cast<double>(place.step) / static_cast<double>(stage.step);
  return std::make_shared<CrossImpl>(options);
}

}  // namespace gaze
