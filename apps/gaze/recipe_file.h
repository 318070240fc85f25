// Recipes: JSON files whose keys are the long flags of a subcommand.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>

namespace gaze::apps {

// Gives every option of `command` that the command line left out the value that the recipe has for it, a
// list's elements as so many uses of the flag. Throws FileError for a file that is missing or no JSON object,
// UsageError for a key that is no flag or a value that its flag refuses.
void apply_recipe(CLI::App& command, const std::filesystem::path& recipe);

}  // namespace gaze::apps
