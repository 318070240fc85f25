#include "models/checkpoint/model_file.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "models/checkpoint/checkpoint.h"
#include "models/checkpoint/file_reader.h"
#include "models/checkpoint/safetensors.h"
#include "models/checkpoint/safetensors_header.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

using nlohmann::json;

constexpr const char* kEntry = "gaze";
constexpr int64_t kFormat = 1;
constexpr size_t kLargestDescription = 16 << 20;
constexpr int kDeepest = 64;
constexpr size_t kMostValues = 500'000;

// What is wrong with the network of a description, or empty.
std::string network_misfit(const json& description) {
  const auto is_object = [&](const char* key) {
    return description.contains(key) && description[key].is_object();
  };
  if (!is_object("backbone")) return "has no object \"backbone\"";
  const json& backbone = description["backbone"];
  if (!backbone.contains("name") || !backbone["name"].is_string())
    return "has no text \"name\" in \"backbone\"";
  if (!is_object("preprocessing")) return "has no object \"preprocessing\"";
  return {};
}

// What is wrong with a description, or empty.
std::string misfit(const json& description) {
  const auto is = [&](const char* key, bool (json::*kind)() const noexcept) {
    const auto found = description.find(key);
    return found != description.end() && ((*found).*kind)();
  };
  const auto absent_or = [&](const char* key, bool (json::*kind)() const noexcept) {
    return !description.contains(key) || is(key, kind);
  };
  if (!description.is_object()) return "is not a JSON object";
  if (!is("format", &json::is_number_integer)) return "has no number \"format\"";
  if (!is("task", &json::is_string)) return "has no text \"task\"";
  const std::string task = description["task"];
  if (task != "translate") {
    const std::string wrong = network_misfit(description);
    if (!wrong.empty()) return wrong;
  }
  if (!absent_or("slots", &json::is_object)) return "has slots that are no object";
  if (description.contains("slots")) {
    for (const auto& item : description["slots"].items()) {
      if (!item.value().is_string()) return fmt::format("has no text as spec of the slot \"{}\"", item.key());
    }
  }
  if (!absent_or("labels", &json::is_array)) return "has labels that are no list";
  if (description.contains("labels")) {
    for (const json& label : description["labels"]) {
      if (!label.is_string()) return "has a label that is no text";
    }
  }
  if (!absent_or("provenance", &json::is_object)) return "has a provenance that is no object";
  const std::map<std::string, std::vector<const char*>> parts{
      {"caption", {"decoder", "tokenizer"}},
      {"translate", {"translator", "source_tokenizer", "tokenizer"}},
      {"classify", {}}};
  const auto needed = parts.find(task);
  if (needed == parts.end())
    return fmt::format("has the task \"{}\"; this version knows caption, classify and translate", task);
  for (const char* const part : needed->second) {
    if (!is(part, &json::is_object)) return fmt::format("has no object \"{}\"", part);
  }
  return {};
}

// nlohmann's parser keeps no stack of its own, but what walks the result later does: deep nesting is refused.
// A value takes many times the memory of its text: so are too many.
json parse(const FileReader& file, const std::string& text) {
  if (text.size() > kLargestDescription)
    file.fail("has a \"gaze\" entry of more than 16 MB", "give another file");
  bool deep = false;
  size_t values = 0;
  json description;
  try {
    description = json::parse(text, [&](int depth, json::parse_event_t, json&) {
      deep = deep || depth > kDeepest;
      return !deep && ++values <= kMostValues;
    });
  } catch (const json::exception&) {
    file.fail("is damaged: its \"gaze\" entry is not JSON", kCopyAgain);
  }
  if (deep) file.fail("is damaged: its \"gaze\" entry nests too deep", kCopyAgain);
  if (values > kMostValues) {
    file.fail(fmt::format("is damaged: its \"gaze\" entry has more than {} values", kMostValues), kCopyAgain);
  }
  return description;
}

}  // namespace

std::optional<nlohmann::json> model_description(const std::filesystem::path& path,
                                                const std::map<std::string, std::string>& metadata) {
  const auto entry = metadata.find(kEntry);
  if (entry == metadata.end()) return std::nullopt;
  const FileReader file(path);
  json description = parse(file, entry->second);
  if (description.is_object() && description.contains("format") &&
      description["format"].is_number_integer()) {
    const int64_t format = description["format"];
    if (format > kFormat) {
      file.fail(fmt::format("is a model file of format {}, this version reads up to {}", format, kFormat),
                "use a newer gaze");
    }
    if (format < 1) file.fail(fmt::format("is damaged: format {}", format), kCopyAgain);
  }
  const std::string problem = misfit(description);
  if (!problem.empty())
    file.fail("is damaged: its \"gaze\" entry " + problem, "write it again with write_model_file");
  return description;
}

bool is_model_file(const std::filesystem::path& path) {
  const FileReader file(path);
  return checkpoint_format(file) == CheckpointFormat::safetensors &&
         read_safetensors_header(file).metadata.count(kEntry) != 0;
}

ModelFile read_model_file(const std::filesystem::path& path) {
  const CheckpointFormat format = checkpoint_format(FileReader(path));
  if (format != CheckpointFormat::safetensors) {
    FileReader(path).fail("is a PyTorch checkpoint, not a model file of gaze",
                          "give it with --weights and --backbone");
  }
  Safetensors content = read_safetensors(path);
  std::optional<json> description = model_description(path, content.metadata);
  if (!description) {
    FileReader(path).fail("is a bare checkpoint: it has no \"gaze\" entry that says what the weights are for",
                          "give it with --weights and --backbone");
  }
  return {std::move(*description), std::move(content.tensors)};
}

void write_model_file(const std::filesystem::path& path, const ModelFile& model) {
  json description = model.description;
  if (description.is_object() && !description.contains("format")) description["format"] = kFormat;
  const std::string problem = misfit(description);
  if (!problem.empty())
    throw ArgumentError("[write_model_file] expected a complete description; got one that " + problem);
  check_that(description["format"] == kFormat, "write_model_file", fmt::format("format {}", kFormat),
             description["format"].dump());
  write_safetensors(path, {model.weights, {{kEntry, description.dump()}}});
}

StateDict with_prefix(const StateDict& state, const std::string& prefix) {
  StateDict part;
  for (auto item = state.lower_bound(prefix); item != state.end(); ++item) {
    if (item->first.compare(0, prefix.size(), prefix) != 0) break;
    part.emplace(item->first.substr(prefix.size()), item->second);
  }
  return part;
}

}  // namespace gaze::models
