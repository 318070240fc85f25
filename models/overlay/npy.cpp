#include "models/overlay/npy.h"

#include <ostream>
#include <string>

#include "modules/core/atomic_file.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr size_t kAlignment = 64;  // of the numbers, as the format asks

// Magic, version 1.0, length of the description, the description as a Python dict, padded with blanks.
std::string header(const std::vector<int64_t>& shape) {
  std::string sizes;
  for (const int64_t size : shape) sizes += std::to_string(size) + ", ";
  if (shape.size() > 1) sizes.erase(sizes.size() - 2);
  if (shape.size() == 1) sizes.pop_back();  // "(7,)"
  std::string description = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + sizes + "), }";
  const size_t before = 10;
  description.append(kAlignment - 1 - (before + description.size()) % kAlignment, ' ');
  description.push_back('\n');
  std::string text("\x93NUMPY\x01\x00", 8);
  text.push_back(static_cast<char>(description.size() & 0xFF));
  text.push_back(static_cast<char>(description.size() >> 8));
  return text + description;
}

}  // namespace

void write_npy(const std::filesystem::path& path, const std::vector<int64_t>& shape,
               const std::vector<float>& values) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  check_that(count == static_cast<int64_t>(values.size()), "write_npy", std::to_string(count) + " values",
             std::to_string(values.size()));
  write_atomically(path, [&](std::ostream& stream) {
    stream << header(shape);
    stream.write(reinterpret_cast<const char*>(values.data()),
                 static_cast<std::streamsize>(values.size() * sizeof(float)));
  });
}

}  // namespace gaze::models
