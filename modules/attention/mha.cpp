#include "modules/attention/mha.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "modules/core/check.h"

namespace gaze {

MhaImpl::MhaImpl(const MhaOptions& options)
    : CellBlock(options, options.channels, kCard.name, options.relative), options_(options) {
  if (options_.width == 0) options_.width = options_.channels;
}

torch::Tensor MhaImpl::forward(const torch::Tensor& x) {
  check_shape(x, "x", {"B", {"C", options_.channels}, "H", "W"}, kCard.name);
  return add_self_attended(x);
}

std::string MhaImpl::spec() const {
  MhaOptions now = options_, usual;
  detail::leave_out_usual_width(now);
  return spec_options(now).write(spec_options(usual));
}

int64_t MhaImpl::macs(int64_t height, int64_t width) const {
  const int64_t of_distances = options_.relative > 0 ? height * width * (height + width) * options_.width : 0;
  return attention_macs(height * width, height * width) + of_distances;
}

void MhaImpl::pretty_print(std::ostream& stream) const {
  MhaOptions now = options_;
  stream << fmt::format("gaze::Mha(channels={}, {})", options_.channels, spec_options(now).values());
}

SpecOptions MhaImpl::spec_options(MhaOptions& options) {
  SpecOptions list(kCard.name);
  detail::add_cell_options(list, options);
  list.integer("relative", options.relative, "rows and columns between cells that are told apart; 0: none");
  list.init(options.init);
  return list;
}

}  // namespace gaze
