// Where attention looked: maps, and the scope that collects them.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace gaze {

// A map of one attention block, detached from the graph, in float32.
struct AttentionMap {
  enum class Kind {
    channel,         // [B, C]        gate per channel
    spatial,         // [B, H, W]     gate per cell
    token,           // [B, T, S]     weights, mean over heads
    token_per_head,  // [B, N, T, S]
  };

  std::string name;  // "layer3.5.attn.0/spatial": the block's place, a slash, which of its maps
  Kind kind = Kind::spatial;
  at::Tensor values;
};

// While a recorder lives, attention blocks of this thread file their maps with it; without one nothing is
// kept and the fused path runs. Recorders nest: the innermost collects.
//
//   MapRecorder recorder;
//   network->forward(x);
//   for (const AttentionMap& map : recorder.maps()) ...
class MapRecorder {
 public:
  MapRecorder();
  ~MapRecorder();
  MapRecorder(const MapRecorder&) = delete;
  MapRecorder& operator=(const MapRecorder&) = delete;

  // The innermost recorder of this thread, or null.
  static MapRecorder* current();

  // Files `values` under the current place (MapPlace) and `leaf`. For blocks.
  void file(const std::string& leaf, AttentionMap::Kind kind, const at::Tensor& values);

  const std::vector<AttentionMap>& maps() const { return maps_; }

 private:
  std::vector<AttentionMap> maps_;
  MapRecorder* outer_;
};

// Names the place of the block that runs within this scope ("layer3.5.attn.0"). Slots open one around each
// block.
class MapPlace {
 public:
  explicit MapPlace(std::string name);
  ~MapPlace();
  MapPlace(const MapPlace&) = delete;
  MapPlace& operator=(const MapPlace&) = delete;

 private:
  std::string outer_;
};

}  // namespace gaze
