// Captioners with golden weights, as the scripts in tests/golden/captioning describe them.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "models/checkpoint/state_dict.h"

namespace gaze::models::test {

// tests/golden
std::filesystem::path golden_folder();
nlohmann::json read_json(const std::filesystem::path& path);

// The original's state dict, by its own names: golden weights of the seeds, those that start with `encoder`
// of the encoder's, then the file's changes.
StateDict golden_state(const nlohmann::json& golden, const std::string& encoder);

}  // namespace gaze::models::test
