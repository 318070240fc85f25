#include "models/data/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "modules/core/error.h"

namespace gaze::models {

namespace detail {
extern const char* const k_stamps_json;
extern const char* const k_imagenet_json;
extern const char* const k_photographs_json;
}  // namespace detail

namespace {

using nlohmann::json;

Stamp stamp_from(const json& row) {
  Stamp stamp;
  stamp.file = row.at("file");
  stamp.noun = row.at("noun");
  stamp.plural = row.at("plural");
  stamp.article = row.at("article");
  stamp.category = row.at("category");
  stamp.synonyms = row.at("synonyms").get<std::vector<std::string>>();
  stamp.imagenet = row.at("imagenet").get<std::vector<int64_t>>();
  if (!row.at("sure_class").is_null()) stamp.sure_class = row.at("sure_class").get<int64_t>();
  stamp.split = split_from_text(row.at("split"));
  return stamp;
}

ClassNoun class_noun_from(const json& row) {
  return {row.at("index"),
          row.at("name"),
          row.at("noun"),
          row.at("plural"),
          row.at("article"),
          row.at("category"),
          row.at("synonyms").get<std::vector<std::string>>()};
}

Photograph photograph_from(const json& row) {
  Photograph photograph;
  photograph.id = row.at("id");
  photograph.package = row.at("package");
  photograph.source = row.at("source");
  photograph.path = row.at("path");
  photograph.file = row.value("file", "");
  photograph.role = row.at("role");
  photograph.ground = row.value("ground", "");
  photograph.licence = row.at("licence");
  photograph.credit = row.value("credit", "");
  photograph.nouns = row.at("nouns").get<std::vector<std::string>>();
  photograph.bundled = row.at("bundled");
  photograph.split = split_from_text(row.value("split", "train"));
  return photograph;
}

template <typename Row>
std::vector<Row> rows_of(const char* text, Row (*from)(const json&)) {
  std::vector<Row> rows;
  for (const json& row : json::parse(text)) rows.push_back(from(row));
  return rows;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

const char* split_text(Split split) {
  return split == Split::train ? "train" : split == Split::val ? "val" : "test";
}

Split split_from_text(const std::string& text) {
  for (Split split : {Split::train, Split::val, Split::test}) {
    if (text == split_text(split)) return split;
  }
  throw ArgumentError(fmt::format("[data] expected split train, val or test; got split {}", text));
}

bool operator==(const Noun& a, const Noun& b) {
  return a.singular == b.singular && a.plural == b.plural && a.article == b.article;
}

bool operator!=(const Noun& a, const Noun& b) {
  return !(a == b);
}

const std::vector<Stamp>& stamp_table() {
  static const std::vector<Stamp> rows = rows_of(detail::k_stamps_json, stamp_from);
  return rows;
}

const std::vector<ClassNoun>& class_nouns() {
  static const std::vector<ClassNoun> rows = rows_of(detail::k_imagenet_json, class_noun_from);
  return rows;
}

const std::vector<Photograph>& photograph_table() {
  static const std::vector<Photograph> rows = rows_of(detail::k_photographs_json, photograph_from);
  return rows;
}

std::vector<std::string> accepted_nouns(const Stamp& stamp) {
  std::vector<std::string> nouns = {stamp.noun};
  nouns.insert(nouns.end(), stamp.synonyms.begin(), stamp.synonyms.end());
  if (stamp.sure_class) nouns.push_back(class_nouns().at(static_cast<size_t>(*stamp.sure_class)).noun);
  std::sort(nouns.begin() + 1, nouns.end());
  nouns.erase(std::unique(nouns.begin() + 1, nouns.end()), nouns.end());
  return nouns;
}

std::string plural_of(const std::string& noun) {
  static const std::unordered_map<std::string, std::string> known = [] {
    std::unordered_map<std::string, std::string> plurals;
    for (const Stamp& stamp : stamp_table()) plurals.emplace(stamp.noun, stamp.plural);
    for (const ClassNoun& row : class_nouns()) plurals.emplace(row.noun, row.plural);
    return plurals;
  }();
  const auto found = known.find(noun);
  if (found != known.end()) return found->second;
  for (const char* hiss : {"s", "x", "ch", "sh"}) {
    if (ends_with(noun, hiss)) return noun + "es";
  }
  const bool consonant_y = noun.size() > 1 && noun.back() == 'y' &&
                           std::string("aeiou").find(noun[noun.size() - 2]) == std::string::npos;
  return consonant_y ? noun.substr(0, noun.size() - 1) + "ies" : noun + "s";
}

}  // namespace gaze::models
