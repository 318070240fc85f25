#include "models/data/text_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <tuple>

#include "modules/core/atomic_file.h"
#include "modules/core/error.h"
#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

void check_text(const std::string& text, size_t pair) {
  const bool usable =
      valid_utf8_bytes(text) == text.size() && text.find_first_of("\t\r\n") == std::string::npos;
  if (!usable) {
    throw ArgumentError(fmt::format(
        "[text_pairs] expected UTF-8 without tabs and line ends; got other bytes in pair {}", pair));
  }
}

}  // namespace

bool operator==(const CharacterSpan& a, const CharacterSpan& b) {
  return a.begin == b.begin && a.end == b.end;
}

bool operator==(const AlignmentLink& a, const AlignmentLink& b) {
  return a.source == b.source && a.target == b.target;
}

bool operator==(const TextPair& a, const TextPair& b) {
  return std::tie(a.source, a.target, a.alignment) == std::tie(b.source, b.target, b.alignment);
}

void link(TextPair& pair, const CharacterSpan& source, const CharacterSpan& target) {
  for (int64_t t = target.begin; t < target.end; ++t) {
    for (int64_t s = source.begin; s < source.end; ++s) pair.alignment.push_back({s, t});
  }
}

std::vector<CharacterSpan> source_spans(const TextPair& pair) {
  std::vector<CharacterSpan> spans(static_cast<size_t>(character_count(pair.target)));
  for (const AlignmentLink& link : pair.alignment) {
    CharacterSpan& span = spans.at(static_cast<size_t>(link.target));
    span = span.empty()
               ? CharacterSpan{link.source, link.source + 1}
               : CharacterSpan{std::min(span.begin, link.source), std::max(span.end, link.source + 1)};
  }
  return spans;
}

void write_text_pairs(const std::filesystem::path& path, const std::vector<TextPair>& pairs) {
  for (size_t i = 0; i < pairs.size(); ++i) {
    check_text(pairs[i].source, i);
    check_text(pairs[i].target, i);
  }
  write_atomically(path, [&](std::ostream& stream) {
    for (const TextPair& pair : pairs) {
      stream << pair.source << '\t' << pair.target;
      char before = '\t';
      for (const AlignmentLink& link : pair.alignment) {
        stream << before << link.source << '-' << link.target;
        before = ' ';
      }
      stream << '\n';
    }
  });
}

}  // namespace gaze::models
