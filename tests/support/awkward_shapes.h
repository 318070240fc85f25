// Feature maps on which careless code fails.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

namespace gaze::test {

struct NamedMap {
  std::string name;
  at::Tensor x;  // [B, C, H, W]
};

// One cell, odd and prime sizes, an empty batch, channels-last, a slice, a transposed view, an expanded
// batch, tied values.
inline std::vector<NamedMap> awkward_maps(at::ScalarType dtype, int64_t channels) {
  const auto random = [&](int64_t b, int64_t c, int64_t h, int64_t w) {
    return at::randn({b, c, h, w}).to(dtype);
  };
  return {
      {"one cell", random(2, channels, 1, 1)},
      {"one picture, one row", random(1, channels, 1, 7)},
      {"odd sizes", random(3, channels, 5, 3)},
      {"prime sizes", random(2, channels, 13, 11)},
      {"empty batch", random(0, channels, 4, 4)},
      {"channels-last", random(2, channels, 5, 4).contiguous(at::MemoryFormat::ChannelsLast)},
      {"slice", random(3, channels + 2, 7, 9).slice(1, 1, channels + 1).slice(2, 1, 6).slice(3, 0, 9, 2)},
      {"transposed", random(2, channels, 6, 4).transpose(2, 3)},
      {"expanded batch", random(1, channels, 3, 3).expand({4, channels, 3, 3})},
      {"all zeros", at::zeros({2, channels, 3, 2}, dtype)},
  };
}

}  // namespace gaze::test
