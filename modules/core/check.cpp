#include "modules/core/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace gaze {

FileError::FileError(const std::string& path, const std::string& problem, const std::string& next_step)
    : std::runtime_error(fmt::format("{}: {}; {}", path, problem, next_step)), path_(path) {}

std::string shape_text(at::IntArrayRef shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

namespace {

std::string expected_text(std::initializer_list<Dim> expected) {
  std::vector<std::string> parts;
  for (const Dim& dim : expected) {
    parts.push_back(dim.size < 0 ? std::string(dim.letter) : fmt::format("{}={}", dim.letter, dim.size));
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

bool fits(const at::Tensor& x, std::initializer_list<Dim> expected) {
  if (!x.defined() || x.dim() != static_cast<int64_t>(expected.size())) return false;
  int64_t axis = 0;
  for (const Dim& dim : expected) {
    if (dim.size >= 0 && x.size(axis) != dim.size) return false;
    ++axis;
  }
  return true;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

void check_shape(const at::Tensor& x, std::string_view name, std::initializer_list<Dim> expected,
                 std::string_view op) {
  if (fits(x, expected)) return;
  const std::string got = x.defined() ? shape_text(x.sizes()) : std::string("undefined");
  throw ArgumentError(
      fmt::format("[{}] expected {} {}; got {} {}", op, name, expected_text(expected), name, got));
}

void check_floating(const at::Tensor& x, std::string_view name, std::string_view op) {
  const auto type = x.scalar_type();
  if (type == at::kDouble || type == at::kFloat || type == at::kBFloat16 || type == at::kHalf) return;
  throw ArgumentError(fmt::format("[{}] expected {} float64, float32, bfloat16 or float16; got {} {}", op,
                                  name, name, c10::toString(type)));
}

void check_like(const at::Tensor& y, std::string_view y_name, const at::Tensor& x, std::string_view x_name,
                std::string_view op) {
  if (y.scalar_type() == x.scalar_type() && y.device() == x.device()) return;
  throw ArgumentError(fmt::format("[{}] expected {} {} on {} like {}; got {} {} on {}", op, y_name,
                                  c10::toString(x.scalar_type()), x.device().str(), x_name, y_name,
                                  c10::toString(y.scalar_type()), y.device().str()));
}

void check_that(bool holds, std::string_view op, std::string_view expected, std::string_view got) {
  if (!holds) throw ArgumentError(fmt::format("[{}] expected {}; got {}", op, expected, got));
}

void fail_unknown(std::string_view op, std::string_view what, std::string_view name,
                  const std::vector<std::string>& known) {
  std::string hint;
  size_t best = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best) {
      best = distance;
      hint = fmt::format("; did you mean \"{}\"?", candidate);
    }
  }
  throw ArgumentError(fmt::format("[{}] unknown {} \"{}\"{}{} known: {}", op, what, name, hint,
                                  hint.empty() ? ";" : "", fmt::join(known, ", ")));
}

}  // namespace gaze
