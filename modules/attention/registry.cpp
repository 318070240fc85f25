#include "modules/attention/registry.h"

#include "modules/attention/cam.h"
#include "modules/attention/cbam.h"
#include "modules/attention/cross.h"
#include "modules/attention/eca.h"
#include "modules/attention/mha.h"
#include "modules/attention/nl.h"
#include "modules/attention/sam.h"
#include "modules/attention/se.h"
#include "modules/core/check.h"

namespace gaze {
namespace {

struct Entry {
  const BlockCard& card;
  std::shared_ptr<AttentionBlock> (*make)(const BlockSpec& spec, const SlotPlace& place, Init init);
  std::vector<OptionDescription> (*options)();
};

template <typename Block>
std::shared_ptr<AttentionBlock> make(const BlockSpec& spec, const SlotPlace& place, Init init) {
  typename Block::Options options;
  options.channels = place.channels;
  options.init = init;
  Block::spec_options(options).read(spec);
  return std::make_shared<Block>(options);
}

template <typename Block>
std::vector<OptionDescription> usual_options() {
  typename Block::Options options;
  return Block::spec_options(options).describe();
}

template <typename Block>
constexpr Entry entry(decltype(Entry::make) make_block = make<Block>) {
  return {Block::kCard, make_block, usual_options<Block>};
}

// What others call them.
struct Alias {
  const char *name, *of;
};
constexpr Alias kAliases[] = {{"mhsa", MhaImpl::kCard.name}, {"non_local", NlImpl::kCard.name}};

// A new module is one line here.
constexpr Entry kEntries[] = {
    entry<SeImpl>(),
    entry<CbamImpl>(),
    entry<CamImpl>(),
    entry<SamImpl>(),
    entry<EcaImpl>(),
    entry<MhaImpl>(),
    entry<CrossImpl>(CrossImpl::from_spec),
    entry<NlImpl>(),
};

}  // namespace

std::vector<std::string> block_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) names.emplace_back(entry.card.name);
  return names;
}

std::shared_ptr<AttentionBlock> make_block(const BlockSpec& spec, const SlotPlace& place, Init init) {
  for (const Alias& alias : kAliases) {
    if (spec.name == alias.name) return make_block({alias.of, spec.options}, place, init);
  }
  for (const Entry& entry : kEntries) {
    if (spec.name == entry.card.name) return entry.make(spec, place, init);
  }
  fail_unknown("spec", "module", spec.name, block_names());
}

SlotPlace described_place() {
  SlotPlace place;
  place.name = "layer3.0.attn";
  place.channels = 256;
  place.earlier = {{"layer1", 64, 4}, {"layer2", 128, 8}};
  place.step = 16;
  return place;
}

std::vector<BlockDescription> describe_blocks() {
  std::vector<BlockDescription> described;
  for (const Entry& entry : kEntries) {
    const auto block = make_block(parse_block_specs(entry.card.example).at(0), described_place());
    described.push_back(
        {entry.card, entry.options(), block->parameter_count(), block->macs(kDescribedSide, kDescribedSide)});
  }
  return described;
}

}  // namespace gaze
