#include "models/data/gettext_catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <fstream>
#include <string_view>

#include "modules/core/error.h"
#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kMagic = 0x950412de;
constexpr uint64_t kHeaderBytes = 28, kEntryBytes = 8;
constexpr uint64_t kLargest = 64'000'000;
constexpr char kContextEnd = '\x04';
constexpr const char* kAgain = "install its package again";

class Catalogue {
 public:
  explicit Catalogue(const fs::path& path) : path_(path.string()) {
    std::error_code failed;
    if (!fs::exists(path, failed)) fail("does not exist", "check the path");
    if (!fs::is_regular_file(path, failed)) fail("is no regular file", "give a .mo file");
    const uint64_t size = fs::file_size(path, failed);
    if (failed) fail("cannot be read (" + failed.message() + ")", "check its permissions");
    if (size > kLargest) fail("is larger than 64 MB", "give a .mo file");
    bytes_.resize(size);
    std::ifstream stream(path, std::ios::binary);
    if (!stream.read(bytes_.data(), static_cast<std::streamsize>(size)))
      fail("cannot be read", "check its permissions");
    if (size < kHeaderBytes) fail("is no gettext catalogue", "give a .mo file");
    find_byte_order();
  }

  std::vector<CatalogueMessage> messages() const {
    const uint64_t count = number(8), originals = number(12), translations = number(16);
    check_table(originals, count, "original");
    check_table(translations, count, "translated");
    std::vector<CatalogueMessage> messages;
    for (uint64_t i = 0; i < count; ++i) {
      const std::string_view original = string_at(originals + i * kEntryBytes, i);
      const std::string_view translation = first_form(string_at(translations + i * kEntryBytes, i));
      if (original.empty()) {
        check_charset(translation);
      } else if (!translation.empty()) {
        messages.push_back(message_of(original, translation, i));
      }
    }
    return messages;
  }

 private:
  [[noreturn]] void fail(const std::string& problem, const std::string& next_step) const {
    throw FileError(path_, problem, next_step);
  }
  [[noreturn]] void damaged(const std::string& why) const { fail("is damaged: " + why, kAgain); }

  void find_byte_order() {
    if (number(0) != kMagic) big_endian_ = true;
    if (number(0) != kMagic) fail("is no gettext catalogue", "give a .mo file");
    const uint64_t revision = number(4) >> 16;
    if (revision > 1)
      fail(fmt::format("is of revision {}; 0 and 1 are read", revision), "make it with msgfmt of gettext");
  }

  // 32 bits; the four bytes are within the file.
  uint64_t number(uint64_t at) const {
    uint64_t value = 0;
    for (uint64_t i = 0; i < 4; ++i)
      value = value << 8 | static_cast<uint8_t>(bytes_[big_endian_ ? at + i : at + 3 - i]);
    return value;
  }

  // No number of 32 bits overflows 64 here.
  void check_table(uint64_t begin, uint64_t count, const char* name) const {
    if (begin + count * kEntryBytes > bytes_.size())
      damaged(fmt::format("the table of {} strings lies outside the file", name));
  }

  std::string_view string_at(uint64_t entry, uint64_t index) const {
    const uint64_t length = number(entry), begin = number(entry + 4);
    if (begin + length >= bytes_.size()) damaged(fmt::format("string {} lies outside the file", index));
    if (bytes_[begin + length] != '\0') damaged(fmt::format("string {} has no end", index));
    return std::string_view(bytes_).substr(begin, length);
  }

  static std::string_view first_form(std::string_view forms) { return forms.substr(0, forms.find('\0')); }

  CatalogueMessage message_of(std::string_view original, std::string_view translation, uint64_t index) const {
    std::string_view text = first_form(original), context;
    const size_t end = text.find(kContextEnd);
    if (end != std::string_view::npos) {
      context = text.substr(0, end);
      text.remove_prefix(end + 1);
    }
    for (const std::string_view part : {context, text, translation}) {
      if (valid_utf8_bytes(part) != part.size()) damaged(fmt::format("string {} is not UTF-8", index));
    }
    return {std::string(context), std::string(text), std::string(translation)};
  }

  // The header entry is that of the empty text: "Content-Type: text/plain; charset=UTF-8".
  void check_charset(std::string_view header) const {
    constexpr std::string_view kName = "charset=";
    const size_t at = header.find(kName);
    if (at == std::string_view::npos) return;
    std::string charset(header.substr(at + kName.size()));
    charset.resize(std::min(charset.find_first_of(" \n;"), charset.size()));
    std::string lower = charset;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (lower != "utf-8" && lower != "utf8" && lower != "us-ascii")
      fail(fmt::format("is in the charset {}", charset),
           "convert it with msgconv --to-code=UTF-8 and msgfmt");
  }

  std::string path_, bytes_;
  bool big_endian_ = false;
};

}  // namespace

std::vector<CatalogueMessage> read_catalogue(const fs::path& path) {
  return Catalogue(path).messages();
}

}  // namespace gaze::models
