#include "models/data/split_by_hash.h"

#include <cstdint>

#include "modules/core/random.h"

namespace gaze::models {
namespace {

constexpr uint64_t kSplit = 107;  // the random stream

uint64_t fnv_1a(const std::string& text) {
  uint64_t value = 0xcbf29ce484222325ULL;
  for (const char c : text) value = (value ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;
  return value;
}

}  // namespace

Split split_by_hash(const std::string& text) {
  const int64_t tenth = Random({kSplit, fnv_1a(text)}).below(10);
  return tenth == 0 ? Split::test : tenth == 1 ? Split::val : Split::train;
}

}  // namespace gaze::models
