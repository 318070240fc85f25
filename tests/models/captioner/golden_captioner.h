// Captioners with golden weights, as the scripts in tests/golden/captioning describe them.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/captioner/caption.h"
#include "models/checkpoint/state_dict.h"

namespace gaze::models::test {

// tests/golden
std::filesystem::path golden_folder();
nlohmann::json read_json(const std::filesystem::path& path);

// The original's state dict, by its own names: golden weights of the seeds, those that start with `encoder`
// of the encoder's, then the file's changes.
StateDict golden_state(const nlohmann::json& golden, const std::string& encoder);

// The words and log-probabilities of `caption`, which must have the golden one's tokens, against its; the
// largest differences seen so far. Maps are given by the index of their word.
struct Parity {
  double word = 0, cell = 0;

  void compare(const CaptionedImage& found, const nlohmann::json& expected,
               const std::map<size_t, std::vector<float>>& maps, const std::string& what);
  // Prints them, and holds log-probabilities to 1e-3 and cells to 1e-4.
  void judge() const;
};

}  // namespace gaze::models::test
