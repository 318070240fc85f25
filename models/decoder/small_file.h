// A tokenizer's file, read whole. Includes no torch.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gaze::models {

// The bytes of a file of at most 64 MB. Throws FileError, whose next step is `next_step` where the path
// exists: no such file, a folder, no permission, empty, too large.
std::string read_small_file(const std::filesystem::path& path, const std::string& next_step);

// The lines, without line ends ("\n", "\r\n") and without a byte order mark; no empty line where the text
// ends with a line end. Views into `text`.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace gaze::models
