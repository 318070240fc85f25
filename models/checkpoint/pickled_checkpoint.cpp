#include "models/checkpoint/pickled_checkpoint.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "models/checkpoint/dtypes.h"
#include "models/checkpoint/pickle.h"
#include "models/checkpoint/pickled_tensors.h"
#include "models/checkpoint/zip_directory.h"

namespace gaze::models {
namespace {

using Kind = PickledValue::Kind;

struct PickledCheckpoint {
  Pickle content;
  StorageExtents extents;
};

constexpr const char* kSaveOnLittleEndian = "save it again on a little-endian machine";

// ARCHIVE/data.pkl is the pickle, ARCHIVE/data/KEY the storages, ARCHIVE/byteorder says "little" or "big".
PickledCheckpoint open_zip(const FileReader& file) {
  const std::map<std::string, ZipEntry> entries = read_zip_directory(file);
  static const std::string pickle_name = "data.pkl";
  const ByteExtent* pickle = nullptr;
  std::string root;
  for (const auto& [name, entry] : entries) {
    const size_t slash = name.find('/');
    const size_t base = slash == std::string::npos ? 0 : slash + 1;
    if (name.compare(base, std::string::npos, pickle_name) != 0) continue;
    if (pickle != nullptr)
      file.fail("holds two checkpoints in one archive", "unpack it and give one of them");
    pickle = &entry.extent;
    root = name.substr(0, base);
  }
  if (pickle == nullptr)
    file.fail("is a zip archive but no PyTorch checkpoint (it has no data.pkl)", "give the .pth file itself");
  if (entries.count(root + "constants.pkl") != 0) {
    file.fail("is a TorchScript program, not a state dict",
              "save it in Python with torch.save(torch.jit.load(FILE).state_dict(), NEW)");
  }
  for (const auto& [name, entry] : entries) {
    if (!entry.compressed) continue;
    file.fail(fmt::format("has a compressed entry, \"{}\", which torch.save does not write", shown(name)),
              kSaveStateDict);
  }
  const auto order = entries.find(root + "byteorder");
  if (order != entries.end() &&
      (order->second.extent.bytes != 6 || file.read_text(order->second.extent.begin, 6) != "little")) {
    file.fail("was saved on a big-endian machine", kSaveOnLittleEndian);
  }
  PickledCheckpoint checkpoint;
  ByteCursor cursor(file, pickle->begin, pickle->begin + pickle->bytes);
  checkpoint.content = read_pickle(file, cursor);
  const std::string folder = root + "data/";
  for (auto entry = entries.lower_bound(folder); entry != entries.end(); ++entry) {
    if (entry->first.compare(0, folder.size(), folder) != 0) break;
    checkpoint.extents.emplace(entry->first.substr(folder.size()), entry->second.extent);
  }
  return checkpoint;
}

// Pickles of a magic number, a protocol number, facts of the machine, the object and the list of storage
// keys; then each storage's number of elements (8 bytes) and its data.
PickledCheckpoint open_legacy(const FileReader& file) {
  static constexpr std::string_view magic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
  ByteCursor cursor(file, 0, file.size());
  const Pickle first = read_pickle(file, cursor);
  if (!first.root->is(Kind::big_integer) || first.root->text != magic) {
    const std::string made_by =
        first.root->is(Kind::object) ? fmt::format(" of {}", shown(first.root->text)) : "";
    file.fail(fmt::format("is a plain pickle{}, not a PyTorch checkpoint (nothing of it was run)", made_by),
              kSaveStateDict);
  }
  const Pickle protocol = read_pickle(file, cursor);
  if (!protocol.root->is(Kind::integer) || protocol.root->integer != 1001) {
    file.fail("has another protocol than 1001 of torch.save", kSaveStateDict);
  }
  const Pickle machine = read_pickle(file, cursor);
  const PickledValue* little_endian = machine.root->find("little_endian");
  if (little_endian != nullptr && little_endian->integer == 0)
    file.fail("was saved on a big-endian machine", kSaveOnLittleEndian);

  PickledCheckpoint checkpoint;
  checkpoint.content = read_pickle(file, cursor);
  std::map<std::string, StorageReference> references;
  for (const PickledValue& value : checkpoint.content.values) {
    std::optional<StorageReference> reference = storage_reference(file, value);
    if (reference) references.emplace(reference->key, std::move(*reference));
  }
  const Pickle keys = read_pickle(file, cursor);
  for (const PickledValue* key : keys.root->items) {
    const auto found = references.find(key->text);
    if (!key->is(Kind::string) || found == references.end()) {
      file.fail("is damaged: it stores data that nothing refers to", kCopyAgain);
    }
    const uint64_t elements = cursor.unsigned_little_endian(8, "its tensors");
    const uint64_t width = c10::elementSize(found->second.dtype);
    if (elements > cursor.remaining() / width) cursor.skip(cursor.remaining() + 1, "its tensors");  // says so
    checkpoint.extents.emplace(key->text, ByteExtent{cursor.position(), elements * width});
    cursor.skip(elements * width, "its tensors");
  }
  return checkpoint;
}

}  // namespace

StateDict read_pickled_state_dict(const FileReader& file, CheckpointFormat format) {
  const PickledCheckpoint checkpoint =
      format == CheckpointFormat::torch_zip ? open_zip(file) : open_legacy(file);
  return read_tensors(file, *checkpoint.content.root, checkpoint.extents);
}

}  // namespace gaze::models
