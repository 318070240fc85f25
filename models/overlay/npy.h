// Writing NumPy's .npy files. Includes no torch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace gaze::models {

// float32, C order, little-endian: numpy.load(path) has `shape`.
// Throws ArgumentError (values do not fill the shape), FileError.
void write_npy(const std::filesystem::path& path, const std::vector<int64_t>& shape,
               const std::vector<float>& values);

}  // namespace gaze::models
