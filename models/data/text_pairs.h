// Pairs of texts, a source and its translation, and files of them. Includes no torch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gaze::models {

// Characters begin .. end-1 of a text, counted from 0; characters as modules/core/utf8.h has them.
struct CharacterSpan {
  int64_t begin = 0, end = 0;

  bool empty() const { return begin == end; }
};

bool operator==(const CharacterSpan& a, const CharacterSpan& b);

// A character of the source that a character of the target translates; both counted from 0.
struct AlignmentLink {
  int64_t source = 0, target = 0;
};

bool operator==(const AlignmentLink& a, const AlignmentLink& b);

struct TextPair {
  std::string source, target;            // UTF-8, without tabs and line ends
  std::vector<AlignmentLink> alignment;  // by target, then source; empty where it is not known
};

bool operator==(const TextPair& a, const TextPair& b);

// Links every character of `source` with every one of `target`; spans are added in the order of their
// targets.
void link(TextPair& pair, const CharacterSpan& source, const CharacterSpan& target);

// For each character of the target the characters of the source it is linked with, from the first to the
// last; empty where it has no link.
std::vector<CharacterSpan> source_spans(const TextPair& pair);

struct TextPairOptions {
  int64_t max_characters = 1000;  // of a source or target; longer ones are skipped
};

// What is wrong with a line.
struct LineProblem {
  int64_t line = 0;  // from 1
  std::string text;  // "no tab between source and target"
};

struct TextPairFile {
  std::vector<TextPair> pairs;  // in the order of the lines
  int64_t lines = 0;
  int64_t skipped = 0;                // lines without a usable pair
  int64_t without_alignment = 0;      // pairs whose third column is no alignment; they are in `pairs`
  std::vector<LineProblem> problems;  // of the first 20 of both
};

// Reads a pair a line: source, tab, target, and perhaps a tab and the alignment. All is UTF-8; a byte order
// mark and carriage returns at line ends are left out. The alignment is links SOURCE-TARGET as in the Pharaoh
// format, "0-0 1-0 2-3", but counted in characters. A line that is no such pair is skipped and said to be:
// empty, without a tab, of four columns or more, not UTF-8, an empty or too long text. Throws FileError: no
// such file, a folder, empty, UTF-16, no usable pair.
TextPairFile read_text_pairs(const std::filesystem::path& path, const TextPairOptions& options = {});

// "PATH: 2 of 9 lines were skipped", then an indented line a problem; empty where there was none.
std::string problem_report(const std::filesystem::path& path, const TextPairFile& file);

// Writes what read_text_pairs() reads. Throws ArgumentError for a text with a tab or a line end or that is
// not UTF-8, FileError where it cannot be written.
void write_text_pairs(const std::filesystem::path& path, const std::vector<TextPair>& pairs);

}  // namespace gaze::models
