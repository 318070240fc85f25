#include "modules/attention/channel_block.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "modules/core/attention_map.h"
#include "modules/core/check.h"

namespace gaze::detail {

ChannelBlock::ChannelBlock(const Options& options, ops::Pool pool, const BlockCard& card,
                           const char* printed_name)
    : layers_(*this, options, card.name),
      options_(options),
      pool_(pool),
      card_(card),
      printed_name_(printed_name),
      mix_(register_mix(options.init)) {
  options_.hidden = layers_.hidden();
}

torch::Tensor ChannelBlock::forward(const torch::Tensor& x) {
  return gate(x, {});
}

torch::Tensor ChannelBlock::forward_to_end(const torch::Tensor& x, const torch::Tensor& shortcut) {
  return gate(x, {shortcut, true});
}

torch::Tensor ChannelBlock::gate(const torch::Tensor& x, const ops::Tail& tail) {
  check_shape(x, "x", {"B", {"C", options_.channels}, "H", "W"}, card_.name);
  const auto [output, gate] = ops::squeeze_excite(x, layers_.weights(), pool_, mix_, tail);
  if (MapRecorder* const recorder = MapRecorder::current())
    recorder->file("channel", AttentionMap::Kind::channel, gate);
  return output;
}

std::string ChannelBlock::spec() const {
  Options now = options_, usual;
  leave_out_usual_width(now);
  return channel_block_options(card_.name, now).write(channel_block_options(card_.name, usual));
}

int64_t ChannelBlock::macs(int64_t height, int64_t width) const {
  const int64_t squeezed = pool_ == ops::Pool::avg_max ? 2 : 1;
  return squeezed * layers_.macs() + options_.channels * height * width;
}

void ChannelBlock::pretty_print(std::ostream& stream) const {
  Options now = options_;
  stream << fmt::format("{}(channels={}, {})", printed_name_, options_.channels,
                        channel_block_options(card_.name, now).values());
}

SpecOptions channel_block_options(const char* block, ChannelBlockOptions& options) {
  SpecOptions list(block);
  add_channel_options(list, options);
  list.init(options.init);
  return list;
}

}  // namespace gaze::detail
