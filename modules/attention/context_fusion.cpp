#include "modules/attention/context_fusion.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "modules/core/check.h"

namespace gaze {
namespace {

constexpr const char* kName = "context_fusion";

const char* name_of(FusionKind kind) {
  switch (kind) {
    case FusionKind::addition:
      return "addition";
    case FusionKind::gate:
      return "gate";
    default:
      return "concatenation";
  }
}

ContextFusionOptions checked(ContextFusionOptions options) {
  if (options.context_width == 0) options.context_width = options.state_width;
  check_that(options.state_width >= 1, kName, "state_width >= 1",
             fmt::format("state_width {}", options.state_width));
  check_that(options.context_width >= 1, kName, "context_width >= 1",
             fmt::format("context_width {}", options.context_width));
  if (options.kind != FusionKind::concatenation) {
    check_that(
        options.context_width == options.state_width, kName,
        fmt::format("context_width {} like state_width for {}", options.state_width, name_of(options.kind)),
        fmt::format("context_width {}", options.context_width));
  }
  return options;
}

}  // namespace

ContextFusionImpl::ContextFusionImpl(const ContextFusionOptions& options) : options_(checked(options)) {
  if (options_.kind == FusionKind::gate) {
    gate_ = register_module("gate", torch::nn::Linear(2 * options_.state_width, options_.state_width));
  }
}

torch::Tensor ContextFusionImpl::forward(const torch::Tensor& state, const torch::Tensor& context) {
  const Dim width("state_width", options_.state_width), other("context_width", options_.context_width);
  if (state.defined() && state.dim() == 2) {
    check_shape(state, "state", {"B", width}, kName);
    check_shape(context, "context", {{"B", state.size(0)}, other}, kName);
  } else {
    check_shape(state, "state", {"B", "T", width}, kName);
    check_shape(context, "context", {{"B", state.size(0)}, {"T", state.size(1)}, other}, kName);
  }
  check_floating(state, "state", kName);
  check_like(context, "context", state, "state", kName);
  if (options_.kind == FusionKind::addition) return state + context;
  const torch::Tensor both = torch::cat({state, context}, -1);  // [B, T, state_width + context_width]
  if (options_.kind == FusionKind::concatenation) return both;
  check_like(gate_->weight, "gate.weight", state, "state", kName);
  const torch::Tensor gate = gate_->forward(both).sigmoid();  // [B, T, state_width]
  return gate * state + (1 - gate) * context;
}

int64_t ContextFusionImpl::output_width() const {
  const bool joined = options_.kind == FusionKind::concatenation;
  return options_.state_width + (joined ? options_.context_width : 0);
}

void ContextFusionImpl::reset_parameters() {
  if (!gate_.is_empty()) gate_->reset_parameters();
}

void ContextFusionImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format("gaze::ContextFusion(kind={}, state_width={}, context_width={})",
                        name_of(options_.kind), options_.state_width, options_.context_width);
}

}  // namespace gaze
