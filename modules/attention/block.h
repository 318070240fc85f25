// What every attention block is: a module that keeps the shape of its input and can stand in a slot.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>

namespace gaze {

// How a new block starts.
enum class Init {
  paper,     // as its paper or its authors' code initialises it
  identity,  // the host's output is bit-equal at insertion: the effective gate is 1 + mix * (g - 1), mix a
             // learned scalar that starts at 0 (state key ".mix"); additive blocks start their last
             // projection at 0
};

// What is said of a block beside its options and counts.
struct BlockCard {
  const char* name;      // in spec strings: "se"
  const char* example;   // a spec with all that the block cannot do without: "cross(memory=layer2)"
  const char* paper;     // "Hu et al. 2018"
  const char* maps;      // the maps it files, with their shapes: "channel [B, C], spatial [B, H, W]"
  const char* identity;  // what starts at 0 with Init::identity: "mix"
};

class AttentionBlock : public torch::nn::Module {
 public:
  // x [B, C, H, W] -> [B, C, H, W], same dtype and memory format. Files its maps with MapRecorder::current()
  // if there is one.
  virtual torch::Tensor forward(const torch::Tensor& x) = 0;

  // relu(forward(x) + shortcut): a residual block's end, which blocks with a fused op do in one pass.
  virtual torch::Tensor forward_to_end(const torch::Tensor& x, const torch::Tensor& shortcut);

  // The earlier stage that forward reads from StageMemory::current(): "layer2". Empty where it reads none.
  virtual std::string memory() const { return {}; }

  // The spec string that makes this block again: "cbam(reduction=16, kernel=7)".
  virtual std::string spec() const = 0;

  // Multiply-accumulates for one picture whose feature map is height x width: matrix products, convolutions
  // and the product of gate and x; sums, maxima and element-wise functions are not counted.
  virtual int64_t macs(int64_t height, int64_t width) const = 0;

  // Learned numbers, running statistics not among them.
  int64_t parameter_count() const;

 protected:
  // The scalar "mix" with Init::identity; undefined, and no key, otherwise.
  torch::Tensor register_mix(Init init);
};

}  // namespace gaze
