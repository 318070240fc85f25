// Python's pickle format read as plain data. Nothing is imported, called or built: a class or function is
// only ever its name, an object its class's name, arguments and state. Includes no torch.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "models/checkpoint/file_reader.h"

namespace gaze::models {

struct PickledValue {
  enum class Kind : uint8_t {
    none,
    boolean,      // integer 0 or 1
    integer,      // integer
    big_integer,  // text: more than 8 bytes, little endian, two's complement
    real,         // real
    string,       // text, UTF-8 as the file has it
    bytes,        // text
    list,         // items
    tuple,        // items
    set,          // items
    dict,         // pairs; collections.OrderedDict too
    global,       // text: the dotted name of a class or function
    object,       // text: the name of what Python would have called; arguments; items and pairs added later
    persistent,   // arguments: the tuple of a persistent id
  };

  Kind kind = Kind::none;
  uint32_t depth = 0;  // of the deepest value below, when this one was built
  union {
    int64_t integer = 0;
    double real;
  };
  std::string text;
  std::vector<const PickledValue*> items;
  std::vector<std::pair<const PickledValue*, const PickledValue*>> pairs;
  const PickledValue* arguments = nullptr;  // object: usually a tuple
  const PickledValue* state = nullptr;      // what BUILD would have set: usually a dict

  bool is(Kind other) const { return kind == other; }
  bool is_object(const char* name) const { return kind == Kind::object && text == name; }
  // The value of a string key among `pairs`, or null. The last one holds, as in Python.
  const PickledValue* find(const char* key) const;
};

// The values own each other's memory together, so that shared and cyclic ones are no matter. Values may be
// cyclic and may share parts many times over: walk them with a limit.
struct Pickle {
  std::deque<PickledValue> values;
  const PickledValue* root = nullptr;
};

// Reads one pickle, protocols 0 to 5 as far as torch.save uses them, and leaves the cursor behind it. Throws
// FileError: cut short, malformed, nested more than 1,000 deep, an operation torch.save does not write, or
// more values than the size of the file and 24 MB can hold.
Pickle read_pickle(const FileReader& file, ByteCursor& cursor);

}  // namespace gaze::models
