// The compiled message catalogues of GNU gettext (.mo). Includes no torch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gaze::models {

struct CatalogueMessage {
  std::string context;      // msgctxt, empty for most
  std::string text;         // msgid: the singular where there is a plural
  std::string translation;  // msgstr, of the first plural form
};

// The messages in the order of the file, which is that of their texts, without the header entry and without
// untranslated ones. Both byte orders and revisions 0.x and 1.x of the format are read (GNU gettext manual,
// "The Format of GNU MO Files"); the hash table and system-dependent strings are left out. Every offset and
// length is checked against the file. Throws FileError: no such file, no catalogue, damaged, of another
// revision, in another charset than UTF-8, larger than 64 MB.
std::vector<CatalogueMessage> read_catalogue(const std::filesystem::path& path);

}  // namespace gaze::models
