// The two kinds of failure a caller can cause. Includes no torch, so that any code can throw them.
#pragma once

#include <stdexcept>
#include <string>

namespace gaze {

// A wrong argument: shape, dtype, option, name. The text says what was expected and what came.
class ArgumentError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// A file that is missing, damaged or of the wrong kind. The text is "PATH: PROBLEM; NEXT STEP".
class FileError : public std::runtime_error {
 public:
  FileError(const std::string& path, const std::string& problem, const std::string& next_step);

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace gaze
