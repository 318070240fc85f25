// Named tensors in files: what is read, how it is loaded into a module, and what did not fit.
#pragma once

#include <torch/nn/module.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace gaze::models {

using StateDict = std::map<std::string, at::Tensor>;

// Reads safetensors, .pth/.pt in zip or legacy form, told apart by content. Of a pickled checkpoint the entry
// "state_dict", "model" or "model_state_dict" is taken where there is one, and a "module." prefix of every
// key is dropped; of a pickled module its parameters and buffers. Nothing in the file is executed. Throws
// FileError.
StateDict read_state_dict(const std::filesystem::path& path);

enum class CheckpointFormat { safetensors, torch_zip, torch_legacy };

struct Checkpoint {
  CheckpointFormat format = CheckpointFormat::safetensors;
  StateDict tensors;
  std::map<std::string, std::string> metadata;  // of safetensors
};
// The same with what the file says of itself.
Checkpoint read_checkpoint(const std::filesystem::path& path);

struct LoadReport {
  std::vector<std::string> missing;     // the module has it, the file does not
  std::vector<std::string> unexpected;  // the file has it, the module does not
  std::vector<std::string>
      mis_shaped;  // "layer1.0.conv1.weight: expected [64, 64, 3, 3], file has [64, 64, 1, 1]"
  bool complete() const { return missing.empty() && unexpected.empty() && mis_shaped.empty(); }
  std::string text() const;  // a line a kind, at most 8 names each and how many more
};

enum class Strictness { strict, allow_missing };

// Copies the tensors into the parameters and buffers of the same names, converting the dtype.
// `num_batches_tracked` may be absent. strict: throws ArgumentError with the report before anything is
// changed, unless it is complete. allow_missing: returns the report; mis-shaped keys are still an error.
LoadReport load_state_dict(torch::nn::Module& module, const StateDict& state,
                           Strictness strictness = Strictness::strict);

// All parameters and buffers of a module, by their full names; detached, sharing the module's memory.
StateDict state_dict(const torch::nn::Module& module);

}  // namespace gaze::models
