#include "models/checkpoint/timm_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "modules/core/error.h"

namespace gaze::models {
namespace {

constexpr size_t kSlotsShown = 4;

std::string kind_of(const SlotContent& slot) {
  return slot.spec.substr(0, slot.spec.find('('));
}

// Throws unless every slot is `fine`.
void require(const std::vector<SlotContent>& slots, const std::function<bool(const SlotContent&)>& fine,
             const std::string& expected) {
  std::string got;
  size_t wrong = 0;
  for (const SlotContent& slot : slots) {
    if (fine(slot)) continue;
    if (++wrong > kSlotsShown) continue;
    got +=
        fmt::format("{}{} in {}", wrong > 1 ? ", " : "", slot.spec.empty() ? "none" : slot.spec, slot.slot);
  }
  if (wrong > kSlotsShown) got += fmt::format(" and {} more", wrong - kSlotsShown);
  if (wrong > 0) throw ArgumentError(fmt::format("[timm] expected {}; got {}", expected, got));
}

bool has(const SlotContent& slot, const std::string& tensor) {
  return slot.tensors.count(tensor) != 0;
}

int64_t size_of(const SlotContent& slot, const std::string& tensor, size_t axis) {
  const auto found = slot.tensors.find(tensor);
  return found != slot.tensors.end() && axis < found->second.size() ? found->second[axis] : 0;
}

// The nearest multiple of `divisor` to channels * ratio, at least one.
int64_t rounded(int64_t channels, double ratio, int64_t divisor) {
  const auto near =
      static_cast<int64_t>(static_cast<double>(channels) * ratio + static_cast<double>(divisor) / 2);
  return std::max(divisor, near / divisor * divisor);
}

// The arguments that give every slot its hidden width, a rule for all: ", rd_ratio=8/128, rd_divisor=1".
std::string width_arguments(const std::vector<SlotContent>& slots, const std::string& fc1,
                            int64_t usual_divisor) {
  const SlotContent& widest = *std::max_element(
      slots.begin(), slots.end(), [](const auto& a, const auto& b) { return a.channels < b.channels; });
  struct Rule {
    int64_t hidden, channels, divisor;  // hidden / channels is the ratio
    bool fits(const SlotContent& slot, const std::string& weight) const {
      const double ratio = static_cast<double>(hidden) / static_cast<double>(channels);
      return size_of(slot, weight, 0) == rounded(slot.channels, ratio, divisor);
    }
  };
  const int64_t hidden = size_of(widest, fc1, 0);
  const std::array<Rule, 4> rules = {{{1, 16, usual_divisor},
                                      {1, 16, 1},
                                      {hidden, widest.channels, usual_divisor},
                                      {hidden, widest.channels, 1}}};
  const auto misfits = [&](const Rule& rule) {
    return std::count_if(slots.begin(), slots.end(),
                         [&](const SlotContent& slot) { return !rule.fits(slot, fc1); });
  };
  const Rule& best = *std::min_element(rules.begin(), rules.end(),
                                       [&](const Rule& a, const Rule& b) { return misfits(a) < misfits(b); });
  require(
      slots, [&](const SlotContent& slot) { return best.fits(slot, fc1); },
      fmt::format("hidden widths of {}/{} of the channels in multiples of {}", best.hidden, best.channels,
                  best.divisor));
  return fmt::format("{}{}",
                     best.channels == 16 ? "" : fmt::format(", rd_ratio={}/{}", best.hidden, best.channels),
                     best.divisor == usual_divisor ? "" : fmt::format(", rd_divisor={}", best.divisor));
}

std::string layer_text(const char* name, const char* module, const std::string& arguments) {
  if (arguments.empty()) return fmt::format("\"{}\"", name);
  return fmt::format("functools.partial(timm.layers.{}{})", module, arguments);
}

}  // namespace

TimmAttention timm_attention(const std::vector<SlotContent>& slots) {
  TimmAttention attention;
  const auto first =
      std::find_if(slots.begin(), slots.end(), [](const auto& slot) { return !slot.spec.empty(); });
  if (first == slots.end()) return attention;
  require(
      slots,
      [](const SlotContent& slot) {
        const bool single =
            slot.spec.find('+') == std::string::npos && slot.slot.rfind(".attn") != std::string::npos;
        const std::string kind = kind_of(slot);
        return slot.spec.empty() || (single && (kind == "se" || kind == "cbam" || kind == "eca"));
      },
      "one block of se, cbam or eca in the slots attn");
  attention.kind = kind_of(*first);
  require(
      slots, [&](const SlotContent& slot) { return kind_of(slot) == attention.kind; },
      fmt::format("{} in the slot attn of every residual block", attention.kind));
  require(
      slots, [](const SlotContent& slot) { return !has(slot, "mix"); },
      "gates without the scalar of init=identity");
  if (attention.kind == "eca") {
    require(
        slots,
        [](const SlotContent& slot) {
          const auto t = static_cast<int64_t>((std::log2(static_cast<double>(slot.channels)) + 1) / 2);
          return size_of(slot, "conv.weight", 2) == std::max<int64_t>(t % 2 == 1 ? t : t + 1, 3);
        },
        "the kernels that follow from the channels");
    attention.attn_layer = layer_text("eca", "EcaModule", "");
    return attention;
  }
  const std::string part = attention.kind == "cbam" ? "channel." : "";
  const bool bias = has(*first, part + "fc1.bias");
  require(
      slots, [&](const SlotContent& slot) { return has(slot, part + "fc1.bias") == bias; },
      fmt::format("blocks {} bias, as the first has it", bias ? "with" : "without"));
  if (attention.kind == "se") {
    std::string arguments = width_arguments(slots, "fc1.weight", 8);
    if (!bias) arguments += ", bias=False";
    attention.attn_layer = layer_text("se", "SEModule", arguments);
    attention.caffe = bias && std::all_of(slots.begin(), slots.end(), [](const SlotContent& slot) {
                        return size_of(slot, "fc1.weight", 0) == slot.channels / 16;
                      });
    return attention;
  }
  const int64_t kernel = size_of(*first, "spatial.conv.weight", 3);
  require(
      slots, [](const SlotContent& slot) { return has(slot, "spatial.bn.weight"); }, "cbam with its norm");
  require(
      slots, [&](const SlotContent& slot) { return size_of(slot, "spatial.conv.weight", 3) == kernel; },
      fmt::format("kernel {}, as the first has it", kernel));
  std::string arguments = width_arguments(slots, "channel.fc1.weight", 1);
  if (kernel != 7) arguments += fmt::format(", spatial_kernel_size={}", kernel);
  if (bias) arguments += ", mlp_bias=True";
  attention.attn_layer = layer_text("cbam", "cbam.CbamModule", arguments);
  return attention;
}

}  // namespace gaze::models
