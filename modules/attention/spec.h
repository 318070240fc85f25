// Spec strings: "se", "cbam(reduction=16, kernel=7)", "se+cbam", "none".
#pragma once

#include <cstdint>
#include <functional>
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

// An option of a block as a person reads of it.
struct OptionDescription {
  std::string name;   // "reduction"
  std::string usual;  // its value unless given: "16"
  std::string text;   // what it does, in a line
};

// The options of one block, each bound to the member that holds it: from it a block reads its spec string,
// writes it, prints itself and says what it can be told. The members must outlive the list.
class SpecOptions {
 public:
  explicit SpecOptions(std::string block) : block_(std::move(block)) {}

  // `text` describes the option. A spec string that a block writes leaves out what has its usual value, but
  // not an option that is `always` written.
  SpecOptions& integer(const char* name, int64_t& value, const char* text);
  SpecOptions& boolean(const char* name, bool& value, const char* text);
  SpecOptions& word(const char* name, std::string& value, const char* text);
  // `names` are those of the enumerators, in order.
  template <typename Enum>
  SpecOptions& choice(const char* name, Enum& value, std::vector<std::string> names, const char* text) {
    return choice(
        name, [&value] { return static_cast<size_t>(value); },
        [&value](size_t index) { value = static_cast<Enum>(index); }, std::move(names), text);
  }
  SpecOptions& init(Init& value);  // "init", the last option of every block
  SpecOptions& always();           // of the option added last

  // Puts the values of `spec` into the members. Throws ArgumentError for an option that is not in the list,
  // which it names, and for a value that does not fit.
  void read(const BlockSpec& spec) const;

  // "se(reduction=16, bias=false)"; `usual` is the same list bound to the values that are left out.
  std::string write(const SpecOptions& usual) const;

  // "reduction=16, hidden=4, bias=true": every value.
  std::string values() const;

  std::vector<OptionDescription> describe() const;

 private:
  struct Option {
    std::string name, text, expected;
    std::function<std::string()> write;
    std::function<bool(const std::string&)> read;  // false for a value that does not fit
    bool always = false;
  };

  SpecOptions& choice(const char* name, std::function<size_t()> get, std::function<void(size_t)> set,
                      std::vector<std::string> names, const char* text);

  std::string block_;
  std::vector<Option> options_;
};

}  // namespace gaze
