#include "models/decoder/decoder_options.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "modules/core/check.h"

namespace gaze::models {
namespace {

void check_kind(const std::string& name, const nlohmann::json& usual, const nlohmann::json& value,
                const char* op) {
  if (usual.is_array()) {
    const bool whole = value.is_array() && std::all_of(value.begin(), value.end(),
                                                       [](const auto& v) { return v.is_number_integer(); });
    check_that(whole, op, name + " a list of whole numbers",
               value.is_array() ? "something else in it" : value.dump());
  } else if (usual.is_boolean()) {
    check_that(value.is_boolean(), op, name + " true or false", value.dump());
  } else if (usual.is_string()) {
    check_that(value.is_string(), op, name + " a text", value.dump());
  } else if (usual.is_number_float()) {
    check_that(value.is_number(), op, name + " a number", value.dump());
  } else {
    check_that(value.is_number_integer(), op, name + " a whole number", value.dump());
  }
}

}  // namespace

nlohmann::json filled_options(const nlohmann::json& given, nlohmann::json usual, const char* op,
                              const std::vector<const char*>& needed) {
  check_that(given.is_object(), op, "an object of options", given.type_name());
  std::vector<std::string> known;
  for (const auto& [name, value] : usual.items()) known.push_back(name);
  for (const auto& [name, value] : given.items()) {
    const auto of_name = usual.find(name);
    if (of_name == usual.end()) fail_unknown(op, "option", name, known);
    check_kind(name, *of_name, value, op);
  }
  for (const char* name : needed)
    check_that(given.contains(name), op, std::string("the option ") + name, "none");
  usual.update(given);
  return usual;
}

}  // namespace gaze::models
