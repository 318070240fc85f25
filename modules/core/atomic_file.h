// Writing files so that nothing half-written is ever seen. Includes no torch.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string_view>

namespace gaze {

// Calls `write` with a stream on a temporary file beside `path`, flushes, then renames it to `path`; to the
// file it leads to where it is a link. A file that is there keeps its mode; what is no file (a device, a
// pipe, a folder) is refused. Creates missing parent folders. Any failure removes the temporary file and
// throws FileError with the system's reason.
void write_atomically(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
void write_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace gaze
