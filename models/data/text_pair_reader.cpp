// read_text_pairs() of text_pairs.h.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <tuple>

#include "models/data/text_pairs.h"
#include "modules/core/error.h"
#include "modules/core/number_text.h"
#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostProblems = 20;
constexpr size_t kLongestLine = 1 << 20;  // bytes kept of a line
constexpr size_t kLongestShown = 40;      // characters
constexpr const char* kLayout = "write a pair a line, source, tab, target, in UTF-8";
constexpr const char* kByteOrderMark = "\xEF\xBB\xBF";

std::ifstream open(const fs::path& path) {
  std::error_code ignored;
  const auto fail = [&](const std::string& problem, const std::string& next_step) {
    throw FileError(path.string(), problem, next_step);
  };
  if (!fs::exists(path, ignored)) fail("does not exist", "check the path");
  if (fs::is_directory(path, ignored)) fail("is a folder", "give a file inside it");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(fmt::format("cannot be read ({})", std::strerror(errno)), "check its permissions");
  char start[2] = {};
  stream.read(start, 2);
  if (stream.gcount() == 0) fail("is empty", kLayout);
  const std::string_view mark(start, static_cast<size_t>(stream.gcount()));
  if (mark == "\xFF\xFE" || mark == "\xFE\xFF") fail("is UTF-16", "save it as UTF-8");
  stream.clear();
  stream.seekg(0);
  return stream;
}

// The next line without its end, of which no more than kLongestLine + 1 bytes are kept; false at the end of
// the file.
bool next_line(std::istream& stream, std::string& line) {
  line.clear();
  std::streambuf& bytes = *stream.rdbuf();
  constexpr int kEnd = std::char_traits<char>::eof();
  int byte = bytes.sbumpc();
  if (byte == kEnd) return false;
  for (; byte != kEnd && byte != '\n'; byte = bytes.sbumpc()) {
    if (line.size() <= kLongestLine) line.push_back(static_cast<char>(byte));
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

std::string shown(std::string_view text) {
  std::string start;
  const std::vector<std::string_view> all = characters(text);
  for (size_t i = 0; i < std::min(all.size(), kLongestShown); ++i) {
    const char32_t c = code_point(all[i]);
    start += c < 0x20 || c == 0x7F ? std::string_view("?") : all[i];
  }
  return all.size() > kLongestShown ? start + "..." : start;
}

std::optional<int64_t> number(std::string_view digits) {
  int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  const bool whole = result.ec == std::errc() && result.ptr == end && digits.front() != '-';
  return whole ? std::optional<int64_t>(value) : std::nullopt;
}

// Nothing where `column` is no alignment of the two texts.
std::optional<std::vector<AlignmentLink>> alignment_of(std::string_view column, int64_t sources,
                                                       int64_t targets) {
  std::vector<AlignmentLink> links;
  while (!column.empty()) {
    const size_t end = std::min(column.find(' '), column.size());
    const std::string_view word = column.substr(0, end);
    column.remove_prefix(std::min(end + 1, column.size()));
    if (word.empty()) continue;
    const size_t dash = word.find('-');
    if (dash == 0 || dash == std::string_view::npos || dash + 1 == word.size()) return std::nullopt;
    const std::optional<int64_t> source = number(word.substr(0, dash)),
                                 target = number(word.substr(dash + 1));
    if (!source || !target || *source >= sources || *target >= targets) return std::nullopt;
    links.push_back({*source, *target});
  }
  const auto by_target = [](const AlignmentLink& a, const AlignmentLink& b) {
    return std::tie(a.target, a.source) < std::tie(b.target, b.source);
  };
  std::sort(links.begin(), links.end(), by_target);
  links.erase(std::unique(links.begin(), links.end()), links.end());
  return links;
}

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  for (;;) {
    const size_t tab = line.find('\t');
    columns.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return columns;
    line.remove_prefix(tab + 1);
  }
}

bool blank(std::string_view text) {
  const std::vector<std::string_view> all = characters(text);
  return std::all_of(all.begin(), all.end(),
                     [](std::string_view character) { return is_white_space(code_point(character)); });
}

// What is wrong with the text, "" where nothing is.
std::string text_problem(std::string_view text, const char* name, int64_t most) {
  if (blank(text)) return fmt::format("an empty {}", name);
  const int64_t count = character_count(text);
  if (count <= most) return "";
  return fmt::format("a {} of {} characters; at most {} are read", name, grouped(count), grouped(most));
}

class Reader {
 public:
  explicit Reader(const TextPairOptions& options) : options_(options) {}

  void read(std::string_view line) {
    ++file_.lines;
    const std::string problem = pair_problem(line);
    if (problem.empty()) return;
    ++file_.skipped;
    note(problem);
  }

  TextPairFile& file() { return file_; }

 private:
  // Keeps the line's pair and returns "", or returns why there is none.
  std::string pair_problem(std::string_view line) {
    if (line.size() > kLongestLine) return fmt::format("longer than {}", bytes_text(kLongestLine));
    const size_t valid = valid_utf8_bytes(line);
    if (valid < line.size()) return fmt::format("not UTF-8 at byte {}", valid + 1);
    if (blank(line)) return "empty";
    const std::vector<std::string_view> columns = columns_of(line);
    if (columns.size() == 1) return "no tab between source and target";
    if (columns.size() > 3)
      return fmt::format("{} columns; source, target and alignment are read", columns.size());
    for (size_t i = 0; i < 2; ++i) {
      std::string problem = text_problem(columns[i], i == 0 ? "source" : "target", options_.max_characters);
      if (!problem.empty()) return problem;
    }
    TextPair pair{std::string(columns[0]), std::string(columns[1]), {}};
    if (columns.size() == 3) align(pair, columns[2]);
    file_.pairs.push_back(std::move(pair));
    return "";
  }

  void align(TextPair& pair, std::string_view column) {
    std::optional<std::vector<AlignmentLink>> links =
        alignment_of(column, character_count(pair.source), character_count(pair.target));
    if (links) {
      pair.alignment = std::move(*links);
      return;
    }
    ++file_.without_alignment;
    note(fmt::format("read without its alignment: \"{}\" is not links within the texts, such as 0-0 1-2",
                     shown(column)));
  }

  void note(const std::string& problem) {
    if (file_.problems.size() < kMostProblems) file_.problems.push_back({file_.lines, problem});
  }

  TextPairOptions options_;
  TextPairFile file_;
};

}  // namespace

TextPairFile read_text_pairs(const fs::path& path, const TextPairOptions& options) {
  std::ifstream stream = open(path);
  Reader reader(options);
  std::string line;
  for (bool first = true; next_line(stream, line); first = false) {
    if (first && line.rfind(kByteOrderMark, 0) == 0) line.erase(0, 3);
    reader.read(line);
  }
  if (reader.file().pairs.empty()) {
    const LineProblem& problem = reader.file().problems.front();
    throw FileError(path.string(),
                    fmt::format("has no usable pair in its {} lines (line {}: {})",
                                grouped(reader.file().lines), problem.line, problem.text),
                    kLayout);
  }
  return std::move(reader.file());
}

std::string problem_report(const fs::path& path, const TextPairFile& file) {
  if (file.skipped + file.without_alignment == 0) return "";
  std::string report = fmt::format("{}: {} of {} lines were skipped", path.string(), grouped(file.skipped),
                                   grouped(file.lines));
  if (file.without_alignment > 0)
    report += fmt::format(", {} read without an alignment", grouped(file.without_alignment));
  for (const LineProblem& problem : file.problems)
    report += fmt::format("\n  line {}: {}", problem.line, problem.text);
  const int64_t more = file.skipped + file.without_alignment - static_cast<int64_t>(file.problems.size());
  if (more > 0) report += fmt::format("\n  and {} more", grouped(more));
  return report;
}

}  // namespace gaze::models
