#include "models/checkpoint/zip_directory.h"

#include <fmt/format.h>

#include <algorithm>

namespace gaze::models {
namespace {

// PKWARE's APPNOTE.TXT: sections 4.3.7 (local header), 4.3.12 (central header), 4.3.14-16 (ends), 4.5.3
// (zip64 field).
constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr const char* kEnd = "PK\x05\x06";
constexpr uint64_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56,
                   kLocator64Bytes = 20;
constexpr uint64_t kLongestComment = 0xffff;
constexpr uint32_t kIn64 = 0xffffffff;
constexpr uint16_t kZip64Field = 1;
constexpr uint64_t kMostEntries = 200'000;

uint64_t little_endian(const std::string& bytes, size_t at, int count) {
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i)
    value = value << 8 | static_cast<uint8_t>(bytes[at + static_cast<size_t>(i)]);
  return value;
}

[[noreturn]] void damaged(const FileReader& file, const std::string& why) {
  file.fail("is damaged: as a zip archive " + why, kCopyAgain);
}

struct Directory {
  uint64_t begin = 0, bytes = 0, entries = 0;
};

Directory find_directory(const FileReader& file) {
  const uint64_t tail = std::min(file.size(), kEndBytes + kLongestComment);
  const std::string text = file.read_text(file.size() - tail, tail);
  size_t at = text.size() < kEndBytes ? std::string::npos : text.rfind(kEnd, text.size() - kEndBytes);
  while (at != std::string::npos && at + kEndBytes + little_endian(text, at + 20, 2) != text.size()) {
    at = at == 0 ? std::string::npos : text.rfind(kEnd, at - 1);
  }
  if (at == std::string::npos) file.fail("is cut short: a zip archive without its directory", kCopyAgain);
  const uint64_t end = file.size() - tail + at;
  Directory directory{little_endian(text, at + 16, 4), little_endian(text, at + 12, 4),
                      little_endian(text, at + 10, 2)};
  if (end >= kLocator64Bytes) {
    const std::string locator = file.read_text(end - kLocator64Bytes, kLocator64Bytes);
    if (little_endian(locator, 0, 4) == kLocator64) {
      const uint64_t end64 = little_endian(locator, 8, 8);
      if (!file.holds(end64, kEnd64Bytes)) damaged(file, "its end record lies outside the file");
      const std::string record = file.read_text(end64, kEnd64Bytes);
      if (little_endian(record, 0, 4) != kEnd64) damaged(file, "it has no end record where it says");
      directory = {little_endian(record, 48, 8), little_endian(record, 40, 8), little_endian(record, 32, 8)};
    }
  }
  if (!file.holds(directory.begin, directory.bytes)) damaged(file, "its directory lies outside the file");
  if (directory.entries > directory.bytes / kCentralBytes)
    damaged(file, "it claims more entries than its directory holds");
  if (directory.entries > kMostEntries)
    damaged(file, fmt::format("it has more than {} entries", kMostEntries));
  return directory;
}

// Replaces the values that did not fit 32 bits by those of the zip64 field, in the fixed order of the format.
void read_zip64_field(const FileReader& file, const std::string& extra, uint64_t& size, uint64_t& stored,
                      uint64_t& local) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    const uint64_t kind = little_endian(extra, at, 2);
    const size_t bytes = little_endian(extra, at + 2, 2);
    at += 4;
    if (bytes > extra.size() - at) damaged(file, "an extra field is longer than its entry");
    if (kind == kZip64Field) {
      const size_t stop = at + bytes;
      for (uint64_t* value : {&size, &stored, &local}) {
        if (*value != kIn64) continue;
        if (stop - at < 8) damaged(file, "a zip64 field is too short");
        *value = little_endian(extra, at, 8);
        at += 8;
      }
      return;
    }
    at += bytes;
  }
}

}  // namespace

std::map<std::string, ZipEntry> read_zip_directory(const FileReader& file) {
  const Directory directory = find_directory(file);
  ByteCursor cursor(file, directory.begin, directory.begin + directory.bytes);
  std::map<std::string, ZipEntry> entries;
  uint64_t total = 0;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    const std::string fixed = cursor.text(kCentralBytes, "its zip directory");
    if (little_endian(fixed, 0, 4) != kCentral) damaged(file, "an entry of its directory is not one");
    const uint64_t flags = little_endian(fixed, 8, 2);
    const uint64_t method = little_endian(fixed, 10, 2);
    uint64_t stored = little_endian(fixed, 20, 4);
    uint64_t size = little_endian(fixed, 24, 4);
    uint64_t local = little_endian(fixed, 42, 4);
    std::string name = cursor.text(little_endian(fixed, 28, 2), "its zip directory");
    const std::string extra = cursor.text(little_endian(fixed, 30, 2), "its zip directory");
    cursor.skip(little_endian(fixed, 32, 2), "its zip directory");
    read_zip64_field(file, extra, size, stored, local);
    if ((flags & 1) != 0)
      file.fail(fmt::format("has an encrypted entry, \"{}\"", shown(name)), kSaveStateDict);
    if (method == 0 && stored != size)
      damaged(file, fmt::format("the stored entry \"{}\" has two sizes", shown(name)));
    if (!file.holds(local, kLocalBytes))
      damaged(file, fmt::format("the entry \"{}\" lies outside the file", shown(name)));
    const std::string header = file.read_text(local, kLocalBytes);
    if (little_endian(header, 0, 4) != kLocal)
      damaged(file, fmt::format("the entry \"{}\" is not where it says", shown(name)));
    const uint64_t begin = local + kLocalBytes + little_endian(header, 26, 2) + little_endian(header, 28, 2);
    if (!file.holds(begin, stored))
      damaged(file, fmt::format("the entry \"{}\" lies outside the file", shown(name)));
    total += stored;
    if (total > file.size()) damaged(file, "its entries overlap");
    if (!entries.emplace(std::move(name), ZipEntry{{begin, stored}, method != 0}).second)
      damaged(file, "it names an entry twice");
  }
  return entries;
}

}  // namespace gaze::models
