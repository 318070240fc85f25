// Attention blocks into the slots of a network that is built and loaded, and out of them.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "modules/attention/slot.h"

namespace gaze::models {

struct InsertOptions {
  Init init = Init::identity;
  bool replace = false;  // instead of what the slots hold, not behind it
  bool dry_run = false;  // only the report: the network stays as it is
  // The network's input that cells and MACs are told for; 0: a Backbone's own preprocessing's.
  int64_t height = 0, width = 0;
};

struct InsertedBlock {
  std::string slot;   // "layer3.5.attn"
  int64_t index = 0;  // its place in the slot, as in the state key "layer3.5.attn.0.fc1.weight"
  std::string spec;   // "se(reduction=16, init=identity)"
  int64_t channels = 0;
  int64_t rows = 0, cols = 0;  // cells of the slot's feature map; 0 where the network does not tell
  int64_t parameters = 0;
  int64_t macs = 0;       // for one picture; 0 where the cells are not known
  bool identity = false;  // the network computes bit for bit what it did
};

struct RemovedBlock {
  std::string slot;
  std::string spec;
  int64_t parameters = 0;
};

// A tensor of a layer that a slot stands in for.
struct LayerWeight {
  std::string key;  // "layer4.0.conv2.weight"
  std::vector<int64_t> shape;
};

struct InsertReport {
  std::vector<InsertedBlock> inserted;
  std::vector<RemovedBlock> removed;
  std::vector<LayerWeight> weights_gone;  // are in no state dict any more
  std::vector<LayerWeight> weights_back;  // are again, as they were before
  int64_t height = 0, width = 0;          // of the input; 0 where it is not known

  int64_t parameters() const;  // inserted less removed
  int64_t macs() const;        // of the inserted blocks
  bool identity() const;       // all of what changed
  std::string text() const;    // a table with a line a block, then the sums; ends in a line break
};
nlohmann::json to_json(const InsertReport& report);

// Puts the blocks of `spec` ("se", "se+cbam(kernel=3)") into every slot whose name matches `pattern` (see
// name_pattern.h; slots named conv, which replace a convolution and its weights, only where the pattern ends
// in "conv"), behind those it holds, with the network's dtype and device and the slot's training mode.
//
// `network` is a Backbone, or any module that has slots among its modules. Throws ArgumentError for a pattern
// without a match, with the nearest names; for an unknown module or option; for values that do not fit the
// slot's channels; and for a memory that is no earlier stage. Then nothing is changed.
InsertReport insert(torch::nn::Module& network, const std::string& pattern, const std::string& spec,
                    const InsertOptions& options = {});

// Empties every filled slot whose name matches. The convolution behind a slot named conv comes back as it was
// when it went. Throws ArgumentError where no filled slot matches, and where a convolution's weights are
// lost because the network was loaded without them.
InsertReport remove(torch::nn::Module& network, const std::string& pattern,
                    const InsertOptions& options = {});

}  // namespace gaze::models
