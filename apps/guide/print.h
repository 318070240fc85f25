// What the programs of the guide print their tables with.
#pragma once

#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace guide {

// "0.356"; a 0 and what is no number have no sign.
inline std::string number_text(double number, int digits = 3) {
  return std::isnan(number) ? "nan" : fmt::format("{:.{}f}", number + 0.0, digits);
}

// A label, 24 columns wide, and numbers behind it, 9 columns each.
inline void print_row(std::string_view label, const std::vector<double>& numbers, int digits = 3) {
  fmt::print("{:<24}", label);
  for (const double number : numbers) fmt::print("{:>9}", number_text(number, digits));
  fmt::print("\n");
}

inline void print_row(std::string_view label, const torch::Tensor& numbers, int digits = 3) {
  const torch::Tensor row = numbers.detach().to(torch::kDouble).flatten().contiguous();
  print_row(label, std::vector<double>(row.data_ptr<double>(), row.data_ptr<double>() + row.numel()), digits);
}

// Words over the numbers of the rows below.
inline void print_head(std::string_view label, const std::vector<std::string_view>& words) {
  fmt::print("{:<24}", label);
  for (const std::string_view word : words) fmt::print("{:>9}", word);
  fmt::print("\n");
}

}  // namespace guide
