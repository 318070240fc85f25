#include "models/decoder/evidence_decoder.h"

#include <fmt/format.h>
#include <torch/nn/init.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "modules/core/check.h"

namespace gaze::models {
namespace {

int64_t count_of(const ClassGroups& groups, int64_t classes) {
  if (groups.groups.empty()) return classes;
  return *std::max_element(groups.groups.begin(), groups.groups.end()) + 1;
}

}  // namespace

void check_class_groups(const ClassGroups& groups, int64_t classes, int64_t words, bool evidence,
                        const char* op) {
  check_that(groups.extra >= 0, op, "extra >= 0", fmt::format("extra {}", groups.extra));
  const auto grouped = static_cast<int64_t>(groups.groups.size());
  const int64_t all = classes + groups.extra;
  check_that((grouped == 0 && groups.extra == 0) || (evidence && grouped == all), op,
             "a group for each class of the evidence and each extra one", fmt::format("{} groups", grouped));
  for (int64_t group : groups.groups) {
    check_that(group >= 0 && group < all, op, fmt::format("groups in 0..{}", all - 1),
               fmt::format("group {}", group));
  }
  const auto worded = static_cast<int64_t>(groups.group_words.size());
  check_that(worded == 0 || worded == count_of(groups, classes), op, "a word, or -1, for each group",
             fmt::format("{} words", worded));
  for (int64_t word : groups.group_words) {
    check_that(word >= -1 && word < words, op, "group_words in -1 .. vocabulary - 1",
               fmt::format("{}", word));
  }
}

void add_class_groups(const ClassGroups& groups, nlohmann::json& options) {
  options["extra"] = groups.extra;
  options["groups"] = groups.groups;
  options["group_words"] = groups.group_words;
}

ClassGroups class_groups_of(const nlohmann::json& options) {
  return {options["extra"], options["groups"].get<std::vector<int64_t>>(),
          options["group_words"].get<std::vector<int64_t>>()};
}

EvidenceDecoder::EvidenceDecoder(const ClassGroups& groups, int64_t classes, int64_t words,
                                 const char* called)
    : called_(called),
      class_groups_(groups),
      classes_(classes),
      words_(words),
      group_count_(count_of(groups, classes)) {
  if (!groups.groups.empty()) groups_ = torch::tensor(groups.groups);
  if (groups.extra == 0) return;
  extra_ = register_module("extra", torch::nn::Linear(classes, groups.extra));
  torch::nn::init::zeros_(extra_->weight);
  torch::nn::init::constant_(extra_->bias, -2.0);
}

void EvidenceDecoder::add_group_words(int64_t width) {
  if (!has_group_words()) return;
  std::vector<int64_t> rows = class_groups_.group_words;
  int64_t nameless = 0;
  for (int64_t& row : rows) row = row < 0 ? words_ + nameless++ : row;
  group_words_ = torch::tensor(rows);
  nameless_ =
      register_parameter("nameless", torch::randn({nameless, width}) / std::sqrt(static_cast<double>(width)));
}

torch::Tensor EvidenceDecoder::with_extra(const torch::Tensor& logits, double dropout) {
  check_shape(logits, "logits", {"B", "S", {"K", classes_}}, called_);
  const torch::Tensor z = logits.to(torch::kFloat);
  if (class_groups_.extra == 0) return z;
  const torch::Tensor centred =
      torch::dropout(z - z.mean(2, /*keepdim=*/true), dropout, /*train=*/dropout > 0);
  return torch::cat({z, extra_(centred)}, 2);  // [B, S, K + E]
}

torch::Tensor EvidenceDecoder::group_sums(const torch::Tensor& logits) const {
  const torch::Tensor classes = logits.softmax(2);
  if (!groups_.defined()) return classes;
  const auto none = torch::zeros({logits.size(0), logits.size(1), group_count_}, logits.options());
  return none.index_add(2, groups_, classes);  // [B, S, G]
}

torch::Tensor EvidenceDecoder::named_cells(const torch::Tensor& cells,
                                           const torch::Tensor& embeddings) const {
  const torch::Tensor named = torch::cat({embeddings, nameless_}).index_select(0, group_words_);  // [G, D]
  return cells.to(named.scalar_type()).matmul(named);
}

}  // namespace gaze::models
