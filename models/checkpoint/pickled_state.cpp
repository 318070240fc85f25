#include "models/checkpoint/pickled_state.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

namespace gaze::models {
namespace {

using Kind = PickledValue::Kind;
using Named = std::map<std::string, const PickledValue*>;

constexpr std::array<const char*, 3> kWrappers = {"state_dict", "model", "model_state_dict"};
constexpr int kMostWrappers = 4;
constexpr size_t kMostSteps = 200'000;  // of the walk through a pickled module
constexpr size_t kBytesPerStep = 64;    // of the names it makes
constexpr size_t kLongestName = 1000;

// A pickled torch.nn.Module: an object whose state has these two dicts.
bool is_module(const PickledValue& value) {
  return value.is(Kind::object) && value.state != nullptr && value.state->find("_parameters") != nullptr &&
         value.state->find("_modules") != nullptr;
}

[[noreturn]] void fail_endless(const FileReader& file) {
  file.fail("is damaged: its modules contain each other without end", kCopyAgain);
}

// Parameters, then persistent buffers, of a module and those within it, by their full names.
Named module_tensors(const FileReader& file, const PickledValue& root) {
  struct Place {
    std::string prefix;
    const PickledValue* module;
  };
  Named named;
  std::vector<Place> open = {{"", &root}};
  size_t steps = 0;
  const auto count = [&](size_t more) {
    steps += more;
    if (steps > kMostSteps) fail_endless(file);
  };
  while (!open.empty()) {
    const Place place = std::move(open.back());
    open.pop_back();
    const PickledValue& state = *place.module->state;
    std::set<std::string> skipped;
    if (const PickledValue* names = state.find("_non_persistent_buffers_set")) {
      count(names->items.size());
      for (const PickledValue* name : names->items) skipped.insert(name->text);
    }
    for (const char* kind : {"_parameters", "_buffers"}) {
      const PickledValue* dict = state.find(kind);
      if (dict == nullptr) continue;
      count(dict->pairs.size());
      for (const auto& [key, value] : dict->pairs) {
        if (!key->is(Kind::string) || skipped.count(key->text) != 0) continue;
        count((place.prefix.size() + key->text.size()) / kBytesPerStep);
        named[place.prefix + key->text] = value;
      }
    }
    const PickledValue& modules = *state.find("_modules");
    count(modules.pairs.size() + state.pairs.size() + 1);
    for (const auto& [key, value] : modules.pairs) {
      if (!key->is(Kind::string) || !is_module(*value)) continue;
      if (place.prefix.size() + key->text.size() > kLongestName) fail_endless(file);
      open.push_back({place.prefix + key->text + ".", value});
    }
  }
  return named;
}

const PickledValue& unwrapped(const PickledValue& root) {
  const PickledValue* value = &root;
  for (int i = 0; i < kMostWrappers; ++i) {
    const PickledValue* inner = nullptr;
    for (const char* name : kWrappers) {
      const PickledValue* candidate = inner == nullptr ? value->find(name) : nullptr;
      if (candidate != nullptr && (!candidate->pairs.empty() || is_module(*candidate))) inner = candidate;
    }
    if (inner == nullptr) break;
    value = inner;
  }
  return *value;
}

// What is named in a dict or a module.
Named entries_of(const FileReader& file, const PickledValue& holder) {
  if (is_module(holder)) return module_tensors(file, holder);
  Named entries;
  for (const auto& [key, value] : holder.pairs) {
    if (key->is(Kind::string)) entries[key->text] = value;
  }
  return entries;
}

// The two networks of a captioner, where the dict holds them side by side.
constexpr std::array<const char*, 2> kParts = {"encoder", "decoder"};

bool has_parts(const PickledValue& holder) {
  return !is_module(holder) && std::all_of(kParts.begin(), kParts.end(), [&](const char* name) {
    const PickledValue* part = holder.find(name);
    return part != nullptr && (is_module(*part) || !part->pairs.empty());
  });
}

}  // namespace

PickledState find_state(const FileReader& file, const PickledValue& root) {
  PickledState found;
  found.holder = &unwrapped(root);
  if (!has_parts(*found.holder)) {
    found.entries = entries_of(file, *found.holder);
    return found;
  }
  for (const char* name : kParts) {
    for (const auto& [key, value] : entries_of(file, *found.holder->find(name)))
      found.entries[std::string(name) + "." + key] = value;
  }
  return found;
}

}  // namespace gaze::models
