// Spec strings: "se", "cbam(reduction=16, kernel=7)", "se+cbam", "none".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "modules/attention/block.h"

namespace gaze {

// One parsed module of a spec string.
struct BlockSpec {
  std::string name;
  std::map<std::string, std::string> options;
};

// "se+cbam(kernel=3)" -> two entries; "none" and "" -> none. Spaces are free. Throws ArgumentError on bad
// syntax.
std::vector<BlockSpec> parse_block_specs(std::string_view text);

// The reverse: "cbam(kernel=3, reduction=8)", options in alphabetical order.
std::string print_block_spec(const BlockSpec& spec);

// Reads the options of one spec, each by its name, type and default; `finish` rejects those nobody asked for.
// Throws ArgumentError naming module, option, what was expected and what came.
class SpecReader {
 public:
  explicit SpecReader(const BlockSpec& spec) : spec_(spec) {}

  int64_t integer(const std::string& option, int64_t fallback);
  bool boolean(const std::string& option, bool fallback);
  Init init(Init fallback);  // option "init": paper or identity

  void finish() const;

 private:
  const std::string* find(const std::string& option);
  [[noreturn]] void fail(const std::string& option, const std::string& expected,
                         const std::string& got) const;

  const BlockSpec& spec_;
  std::vector<std::string> known_;
};

}  // namespace gaze
