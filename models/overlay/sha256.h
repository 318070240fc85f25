// SHA-256 (FIPS 180-4). Includes no torch.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace gaze::models {

// 64 hexadecimal digits.
std::string sha256(std::string_view bytes);
// Of a file's content. Throws FileError.
std::string file_sha256(const std::filesystem::path& path);

}  // namespace gaze::models
