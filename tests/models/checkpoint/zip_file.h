// Zip archives as torch.save writes them, every field of them open to lies.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gaze::test {

struct ZipEntryText {
  ZipEntryText(std::string name, std::string data) : name(std::move(name)), data(std::move(data)) {}

  std::string name, data;
  uint16_t method = 0;
  std::optional<uint32_t> size, stored, local;  // instead of the true ones, in the directory
  std::optional<uint64_t> size64;               // both sizes, in a zip64 field
  std::string shares_with;                      // its data are those of that entry, not written again
};

struct ZipFile {
  std::vector<ZipEntryText> entries;
  std::optional<uint32_t> directory_bytes;
  std::optional<uint16_t> directory_entries;

  std::string content() const {
    std::string file, directory;
    std::map<std::string, uint32_t> places;
    for (const ZipEntryText& entry : entries) {
      if (entry.shares_with.empty()) {
        places[entry.name] = static_cast<uint32_t>(file.size());
        file += number(0x04034b50, 4) + std::string(22, '\0') + number(entry.name.size(), 2) + number(0, 2) +
                entry.name + entry.data;
      }
      const std::string extra =
          entry.size64 ? number(1, 2) + number(16, 2) + number(*entry.size64, 8) + number(*entry.size64, 8)
                       : "";
      const uint32_t size = entry.size64 ? 0xffffffff : entry.size.value_or(entry.data.size());
      const uint32_t stored = entry.size64 ? 0xffffffff : entry.stored.value_or(entry.data.size());
      directory +=
          number(0x02014b50, 4) + std::string(6, '\0') + number(entry.method, 2) + std::string(8, '\0') +
          number(stored, 4) + number(size, 4) + number(entry.name.size(), 2) + number(extra.size(), 2) +
          std::string(10, '\0') +
          number(entry.local.value_or(places.at(entry.shares_with.empty() ? entry.name : entry.shares_with)),
                 4) +
          entry.name + extra;
    }
    const uint64_t begin = file.size();
    return file + directory + number(0x06054b50, 4) + std::string(6, '\0') +
           number(directory_entries.value_or(entries.size()), 2) +
           number(directory_bytes.value_or(directory.size()), 4) + number(begin, 4) + number(0, 2);
  }

  static std::string number(uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
  }
};

// A tensor of shape [4] on the float storage "0".
inline const std::string kTensorPickle =
    std::string("ctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\nFloatStorage\nU\x01") + "0U\x03" +
    "cpuK\x04tQK" + std::string(1, '\0') + "K\x04\x85K\x01\x85\x89}tR";

// {"w": the tensor of 0, 1, 2, 3}, or another pickle beside the same storage.
inline ZipFile checkpoint_zip(const std::string& pickle = "\x80\x02}U\1w" + kTensorPickle + "s.") {
  const float values[] = {0, 1, 2, 3};
  ZipFile zip;
  zip.entries = {{"a/data.pkl", pickle},
                 {"a/data/0", std::string(reinterpret_cast<const char*>(values), sizeof values)}};
  return zip;
}

}  // namespace gaze::test
