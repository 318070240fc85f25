// What `gaze --version` prints.
#pragma once

#include <string>

namespace gaze::apps {

// A line each: gaze, LibTorch, OpenCV, fmt, and what the CPU can do.
std::string version_text();

}  // namespace gaze::apps
