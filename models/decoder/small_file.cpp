#include "models/decoder/small_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "modules/core/error.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargest = 64'000'000;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

std::string read_small_file(const fs::path& path, const std::string& next_step) {
  std::error_code failed;
  if (!fs::exists(path, failed)) throw FileError(path.string(), "does not exist", "check the path");
  const auto fail = [&](const std::string& problem) { throw FileError(path.string(), problem, next_step); };
  if (!fs::is_regular_file(path, failed))
    fail(fs::is_directory(path, failed) ? "is a folder" : "is no regular file");
  const uint64_t size = fs::file_size(path, failed);
  if (failed)
    throw FileError(path.string(), "cannot be read (" + failed.message() + ")", "check its permissions");
  if (size == 0) fail("is empty");
  if (size > kLargest) fail("is larger than 64 MB");
  std::string bytes(size, '\0');
  std::ifstream stream(path, std::ios::binary);
  if (!stream.read(bytes.data(), static_cast<std::streamsize>(size)))
    throw FileError(path.string(), fmt::format("cannot be read ({})", std::strerror(errno)),
                    "check its permissions");
  return bytes;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace gaze::models
