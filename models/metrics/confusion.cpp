#include "models/metrics/confusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace gaze::models {
namespace {

constexpr size_t kLargestTable = 12;
constexpr size_t kPairs = 10;

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\n\r") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

std::string worst_pairs(const Confusion& confusion) {
  std::vector<std::tuple<int64_t, size_t, size_t>> pairs;
  for (size_t i = 0; i < confusion.counts.size(); ++i) {
    for (size_t j = 0; j < confusion.counts.size(); ++j) {
      if (i != j && confusion.counts[i][j] > 0) pairs.emplace_back(-confusion.counts[i][j], i, j);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.resize(std::min(pairs.size(), kPairs));
  std::string text;
  for (const auto& [count, i, j] : pairs)
    text += fmt::format("{:6}  {} taken for {}\n", -count, confusion.classes[i], confusion.classes[j]);
  return text.empty() ? "nothing was confused\n" : text;
}

}  // namespace

Confusion::Confusion(std::vector<std::string> names)
    : classes(std::move(names)), counts(classes.size(), std::vector<int64_t>(classes.size(), 0)) {}

void Confusion::add(int64_t truth, int64_t said) {
  ++counts.at(static_cast<size_t>(truth)).at(static_cast<size_t>(said));
}

double Confusion::accuracy() const {
  int64_t right = 0, all = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    right += counts[i][i];
    for (const int64_t count : counts[i]) all += count;
  }
  return all > 0 ? static_cast<double>(right) / static_cast<double>(all) : 0;
}

std::string Confusion::csv() const {
  std::string text = "truth \\ said";
  for (const std::string& name : classes) text += "," + quoted(name);
  for (size_t i = 0; i < counts.size(); ++i) {
    text += "\n" + quoted(classes[i]);
    for (const int64_t count : counts[i]) text += fmt::format(",{}", count);
  }
  return text + "\n";
}

std::string Confusion::text() const {
  if (classes.size() > kLargestTable) return worst_pairs(*this);
  const std::string corner = "truth \\ said";
  size_t first = corner.size();
  for (const std::string& name : classes) first = std::max(first, name.size());
  std::string text = fmt::format("{:<{}}", corner, first);
  for (const std::string& name : classes) text += fmt::format("  {:>5}", name);
  for (size_t i = 0; i < counts.size(); ++i) {
    text += fmt::format("\n{:<{}}", classes[i], first);
    for (size_t j = 0; j < counts.size(); ++j)
      text += fmt::format("  {:>{}}", counts[i][j], std::max<size_t>(5, classes[j].size()));
  }
  return text + "\n";
}

}  // namespace gaze::models
