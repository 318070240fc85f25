#include "modules/attention/se.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "modules/attention/channel_layers.h"
#include "modules/core/attention_map.h"
#include "modules/core/check.h"

namespace gaze {

SeImpl::SeImpl(const SeOptions& options) : options_(options) {
  const int64_t hidden = detail::hidden_width(options.channels, options.reduction, options.hidden, "se");
  options_.hidden = hidden;
  fc1_ = register_module("fc1", detail::pointwise(options.channels, hidden, options.bias));
  fc2_ = register_module("fc2", detail::pointwise(hidden, options.channels, options.bias));
  if (options.init == Init::identity) mix_ = register_parameter("mix", torch::zeros({}));
}

torch::Tensor SeImpl::forward(const torch::Tensor& x) {
  check_shape(x, "x", {"B", {"C", options_.channels}, "H", "W"}, "se");
  const auto [output, gate] =
      ops::squeeze_excite(x, detail::channel_weights(fc1_, fc2_), ops::Pool::avg, mix_);
  if (MapRecorder* const recorder = MapRecorder::current())
    recorder->file("channel", AttentionMap::Kind::channel, gate);
  return output;
}

std::string SeImpl::spec() const {
  const bool usual = options_.hidden == detail::hidden_width(options_.channels, options_.reduction, 0, "se");
  return fmt::format(
      "se(reduction={}{}{}{})", options_.reduction, usual ? "" : fmt::format(", hidden={}", options_.hidden),
      options_.bias ? "" : ", bias=false", options_.init == Init::identity ? ", init=identity" : "");
}

int64_t SeImpl::macs(int64_t height, int64_t width) const {
  return 2 * options_.channels * options_.hidden + options_.channels * height * width;
}

void SeImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format("gaze::Se(channels={}, hidden={}, bias={}, init={})", options_.channels,
                        options_.hidden, options_.bias,
                        options_.init == Init::identity ? "identity" : "paper");
}

std::shared_ptr<AttentionBlock> SeImpl::from_spec(SpecReader& reader, const SlotPlace& place, Init init) {
  SeOptions options;
  options.channels = place.channels;
  options.reduction = reader.integer("reduction", options.reduction);
  options.hidden = reader.integer("hidden", options.hidden);
  options.bias = reader.boolean("bias", options.bias);
  options.init = init;
  reader.finish();
  return std::make_shared<SeImpl>(options);
}

}  // namespace gaze
