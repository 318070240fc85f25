// English sentences with Chinese translations, from what installed Debian packages carry. Includes no torch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/data/photographs.h"
#include "models/data/tables.h"
#include "models/data/text_pairs.h"

namespace gaze::models {

// Where sentences come from.
struct TextSource {
  const char* package;  // of Debian
  const char* licence;  // of its texts
  const char* path;     // below the root; {} is the locale
};

// tuxpaint-stamps-default (GPL-2): what the stamps are called, a folder of .txt files. tuxpaint-data (GPL-2+)
// and aisleriot (GPL-3+): message catalogues of a painting program and of card games.
const std::vector<TextSource>& text_sources();

// The descriptions of stamps below `folder`, sorted by their paths: the first line of NAME.txt and its line
// "LOCALE.utf8=...". Files without such a line are left out.
std::vector<TextPair> stamp_descriptions(const std::filesystem::path& folder, const std::string& locale);

struct ParallelTextOptions {
  Split split = Split::train;
  uint64_t seed = 1;             // of the order
  std::string locale = "zh_CN";  // or zh_TW, traditional characters
  DataFolders folders;
};

// The split of an English text: split_by_hash() of its letters and digits in lower case, so that texts that
// differ in their punctuation alone are in one; "I love cats" is train.
Split text_split(const std::string& english);

// simple_sentences() and the clean_message()s of text_sources(), those of the split, in an order drawn by the
// seed. No English text is there twice, in whatever case: the first translation holds. Throws FileError
// naming the package to install; ArgumentError for another locale.
std::vector<TextPair> english_chinese_pairs(const ParallelTextOptions& options);

}  // namespace gaze::models
