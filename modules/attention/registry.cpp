#include "modules/attention/registry.h"

#include "modules/attention/cbam.h"
#include "modules/attention/se.h"
#include "modules/core/check.h"

namespace gaze {
namespace {

struct Entry {
  const char* name;
  std::shared_ptr<AttentionBlock> (*make)(SpecReader& reader, const SlotPlace& place, Init init);
};

// A new module is one line here.
constexpr Entry kEntries[] = {
    {"se", SeImpl::from_spec},
    {"cbam", CbamImpl::from_spec},
};

}  // namespace

std::vector<std::string> block_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) names.emplace_back(entry.name);
  return names;
}

std::shared_ptr<AttentionBlock> make_block(const BlockSpec& spec, const SlotPlace& place, Init init) {
  for (const Entry& entry : kEntries) {
    if (spec.name != entry.name) continue;
    SpecReader reader(spec);
    return entry.make(reader, place, reader.init(init));
  }
  fail_unknown("spec", "module", spec.name, block_names());
}

}  // namespace gaze
