// The element types a checkpoint may hold, under the names of each format.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <optional>
#include <string_view>

namespace gaze::models {

// "F32" -> float32; nothing for a name that is not known.
std::optional<at::ScalarType> from_safetensors_name(std::string_view name);
// float32 -> "F32"; empty for a type the format has not.
std::string_view to_safetensors_name(at::ScalarType type);
// The reference writes tensors of a lower order first.
size_t safetensors_order(at::ScalarType type);

// "torch.FloatStorage" -> float32, "torch.storage.UntypedStorage" -> uint8.
std::optional<at::ScalarType> from_storage_class(std::string_view name);
// "torch.float32" -> float32.
std::optional<at::ScalarType> from_dtype_name(std::string_view name);

// float32 -> "float32", as people write it.
std::string_view dtype_text(at::ScalarType type);

}  // namespace gaze::models
