#include "apps/gaze/recipe_file.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/gaze/command.h"
#include "modules/core/check.h"

namespace gaze::apps {
namespace {

std::vector<std::string> long_flags(CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

// The words of the command line that a value stands for: a list's elements one by one.
std::vector<std::string> words_of(const nlohmann::json& value) {
  std::vector<std::string> words;
  for (const nlohmann::json& item : value.is_array() ? value : nlohmann::json::array({value}))
    words.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  return words;
}

}  // namespace

void apply_recipe(CLI::App& command, const std::filesystem::path& recipe) {
  std::ifstream stream(recipe);
  if (!stream)
    throw FileError(recipe.string(), "cannot be read",
                    "give --recipe a JSON file such as weights/recipes/*.json");
  const nlohmann::json values =
      nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  if (!values.is_object())
    throw FileError(recipe.string(), "is not a JSON object",
                    "its keys are the long flags, e.g. {\"epochs\": 20}");
  for (const auto& [key, value] : values.items()) {
    CLI::Option* option = command.get_option_no_throw("--" + key);
    if (option == nullptr) fail_unknown("recipe", "key", key, long_flags(command));
    if (option->count() > 0) continue;  // the command line wins
    try {
      option->add_result(words_of(value));
      option->run_callback();
    } catch (const CLI::Error& error) {
      throw UsageError(fmt::format("{}: {}: {}", recipe.string(), key, error.what()));
    }
  }
}

}  // namespace gaze::apps
