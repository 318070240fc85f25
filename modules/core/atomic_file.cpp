#include "modules/core/atomic_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

#include "modules/core/error.h"

namespace gaze {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& reason) {
  throw FileError(path.string(), "cannot be written (" + reason + ")",
                  "check the folder, its permissions and the free space");
}

}  // namespace

void write_atomically(const std::filesystem::path& given, const std::function<void(std::ostream&)>& write) {
  std::error_code error;
  std::filesystem::path path = given;
  if (std::filesystem::is_symlink(path, error)) {
    path = std::filesystem::weakly_canonical(path, error);
    if (error) fail(given, error.message());
  }
  const std::filesystem::file_status before = std::filesystem::status(path, error);
  const bool there = std::filesystem::exists(before);
  if (there && !std::filesystem::is_regular_file(before))
    throw FileError(given.string(), "is there already and is no file", "give another name");
  const std::filesystem::path folder = path.parent_path();
  if (!folder.empty()) {
    std::filesystem::create_directories(folder, error);
    if (error) fail(path, error.message());
  }
  const std::filesystem::path temporary = path.string() + ".tmp" + std::to_string(::getpid());
  try {
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    if (!stream) fail(path, std::strerror(errno));
    write(stream);
    stream.flush();
    if (!stream) fail(path, errno != 0 ? std::strerror(errno) : "write failed");
    stream.close();
    if (!stream) fail(path, "write failed");
    error.clear();  // a file that was not there yet has left one
    if (there) std::filesystem::permissions(temporary, before.permissions(), error);
    if (error) fail(path, error.message());
    std::filesystem::rename(temporary, path, error);
    if (error) fail(path, error.message());
  } catch (...) {
    std::filesystem::remove(temporary, error);
    throw;
  }
}

void write_atomically(const std::filesystem::path& path, std::string_view content) {
  write_atomically(path, [&](std::ostream& stream) {
    stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  });
}

}  // namespace gaze
