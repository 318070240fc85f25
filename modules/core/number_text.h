// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace gaze {

std::string grouped(int64_t number);     // 25557032 -> "25,557,032"
std::string bytes_text(uint64_t bytes);  // 3800 -> "3.8 kB"

}  // namespace gaze
