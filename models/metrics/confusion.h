// Which classes a classifier takes for which. Includes no torch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gaze::models {

struct Confusion {
  std::vector<std::string> classes;  // [K]
  std::vector<std::vector<int64_t>>
      counts;  // [K][K]: pictures of class i (row) that were said to be j (column)

  explicit Confusion(std::vector<std::string> names = {});

  void add(int64_t truth, int64_t said);
  double accuracy() const;  // share on the diagonal; 0 where nothing was counted

  // A header "truth \ said,CLASS,..." and a row a class; names with commas, quotes or line breaks are quoted.
  std::string csv() const;
  // The same as aligned columns for up to 12 classes; above that the ten pairs that are confused most.
  std::string text() const;
};

}  // namespace gaze::models
