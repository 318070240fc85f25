// Decoders' options as JSON. Includes no torch.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace gaze::models {

// `usual` with the values of `given`, of the same kinds: true or false, a whole number, a number, a text, a
// list of whole numbers. Throws ArgumentError in the name of `op`: another kind, a key that `usual` has not,
// one of `needed` that is not given.
nlohmann::json filled_options(const nlohmann::json& given, nlohmann::json usual, const char* op,
                              const std::vector<const char*>& needed = {"vocabulary"});

}  // namespace gaze::models
