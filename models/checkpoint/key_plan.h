// Which network a checkpoint's tensors are of, told by their names and shapes, and what each is called here.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/checkpoint/summary.h"

namespace gaze::models {

// Known by their names and shapes: torchvision's ResNets, ResNeXts and wide ResNets; timm's with "se" holding
// se, cbam or eca; timm's legacy_se* and Cadene's; the CBAM of its authors and of luuuyi; moskomule's SE;
// ECANet; EfficientNet-Lite0 of efficientnet-lite-pytorch.
struct KeyPlan {
  enum class Change {
    none,
    swap_planes,     // [1, 2, k, k]: its two input planes change places, (mean, max) <-> (max, mean)
    to_convolution,  // [out, in] -> [out, in, 1, 1]
  };
  struct Move {
    std::string from, to;
    Change change = Change::none;
  };

  std::string ecosystem;                     // "torchvision", "timm", "the authors' CBAM"
  std::string prefix;                        // before every name: "backbone."
  std::string backbone;                      // "resnet50"
  nlohmann::json options;                    // of the backbone: {"classes": 1000, "stride_in_conv1": true}
  std::map<std::string, std::string> slots;  // "layer1.0.attn" -> "cbam(bias=false, hidden=16, kernel=7)"
  std::vector<Move> moves;                   // every tensor that is kept, by its name in the file
  std::vector<std::string> dropped;          // tensors no network needs: counters of a profiler

  std::string network() const;  // "timm resnet50 with se in 16 slots"
};

// Throws ArgumentError that says why the tensors are of no network gaze has, naming some of them.
KeyPlan plan_keys(const TensorSummaries& tensors);

// "a, b, c, d and 12 more"
std::string some_of(const std::vector<std::string>& names);

}  // namespace gaze::models
