// gaze inspect: what files of weights, models and pictures are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/gaze/command.h"
#include "models/checkpoint/dtypes.h"
#include "models/checkpoint/summary.h"
#include "models/image/image.h"
#include "modules/core/number_text.h"

namespace gaze::apps {
namespace {

using nlohmann::json;

struct InspectCommand {
  std::vector<std::string> files;
  bool json = false, keys = false;
};

const char* format_text(models::CheckpointFormat format) {
  switch (format) {
    case models::CheckpointFormat::torch_zip:
      return "PyTorch zip";
    case models::CheckpointFormat::torch_legacy:
      return "PyTorch legacy";
    default:
      return "safetensors";
  }
}

bool is_picture(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  constexpr std::array<const char*, 7> known = {".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp"};
  return std::find(known.begin(), known.end(), extension) != known.end();
}

json inspect_picture(const std::filesystem::path& path) {
  const models::Image image = models::load_image(path);
  return {{"file", path.string()},
          {"kind", "picture"},
          {"width", image.width},
          {"height", image.height},
          {"exif_orientation", image.exif_orientation}};
}

json inspect_weights(const std::filesystem::path& path, const InspectCommand& command) {
  const models::CheckpointSummary summary = models::summarize_checkpoint(path);
  json result = {{"file", path.string()},
                 {"kind", summary.description ? "model" : "checkpoint"},
                 {"format", format_text(summary.format)},
                 {"bytes", summary.file_bytes},
                 {"tensors", summary.tensors.size()},
                 {"parameters", summary.parameters},
                 {"dtypes", summary.dtypes}};
  if (summary.description) {
    result["description"] = *summary.description;
  } else {
    result["looks_like"] = summary.looks_like.empty() ? json(nullptr) : json(summary.looks_like);
    result["classes"] = summary.classes > 0 ? json(summary.classes) : json(nullptr);
    if (!summary.metadata.empty()) result["metadata"] = summary.metadata;
  }
  if (command.keys) {
    json& keys = result["keys"] = json::array();
    for (const auto& [name, tensor] : summary.tensors) {
      keys.push_back({{"name", name},
                      {"dtype", std::string(models::dtype_text(tensor.dtype))},
                      {"shape", tensor.shape}});
    }
  }
  return result;
}

// "width 256, heads 8": the plain values of an object; what holds others only by name.
std::string values_text(const json& object) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : object.items()) {
    if (value.is_string()) {
      parts.push_back(fmt::format("{} {}", key, value.get<std::string>()));
    } else if (value.is_object() && !value.empty()) {
      parts.push_back(fmt::format("{} ({})", key, values_text(value)));
    } else if (value.is_array() && value.size() > 8) {
      parts.push_back(fmt::format("{} {} values", key, value.size()));
    } else {
      parts.push_back(fmt::format("{} {}", key, value.dump(-1, ' ', false, json::error_handler_t::replace)));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print_line(const char* what, const std::string& text) {
  if (!text.empty()) std::cout << fmt::format("  {:<14}{}\n", what, text);
}

void print_network(const json& description) {
  json backbone = description["backbone"];
  const std::string name = backbone["name"];
  backbone.erase("name");
  const std::string rest = values_text(backbone);
  print_line("backbone", rest.empty() ? name : fmt::format("{}, {}", name, rest));
  const json slots = description.value("slots", json::object());
  print_line("slots", slots.empty() ? "none" : fmt::format("{}: {}", slots.size(), values_text(slots)));
  print_line("preprocessing", values_text(description["preprocessing"]));
}

void print_tokenizer(const char* what, const json& tokenizer) {
  if (!tokenizer.contains("data") || !tokenizer["data"].is_array()) return;
  const json& kind = tokenizer.contains("kind") ? tokenizer["kind"] : json("of unknown kind");
  print_line(what, fmt::format("{} entries, {}", tokenizer["data"].size(),
                               kind.is_string() ? kind.get<std::string>() : kind.dump()));
}

void print_description(const json& description) {
  print_line("task", description["task"]);
  if (description.contains("backbone")) print_network(description);
  print_line("translator", values_text(description.value("translator", json::object())));
  print_line("decoder", values_text(description.value("decoder", json::object())));
  print_tokenizer("source", description.value("source_tokenizer", json::object()));
  print_tokenizer("vocabulary", description.value("tokenizer", json::object()));
  if (description.contains("labels")) print_line("labels", std::to_string(description["labels"].size()));
  const json provenance = description.value("provenance", json::object());
  for (const auto& [key, value] : provenance.items()) {
    print_line(key.c_str(), value.is_string()   ? value.get<std::string>()
                            : value.is_object() ? values_text(value)
                                                : value.dump());
  }
}

void print_text(const json& result) {
  std::cout << result["file"].get<std::string>() << '\n';
  const std::string kind = result["kind"];
  if (kind == "picture") {
    print_line("picture",
               fmt::format("{} x {} pixels upright, EXIF orientation {}", result["width"].get<int64_t>(),
                           result["height"].get<int64_t>(), result["exif_orientation"].get<int>()));
    return;
  }
  print_line(kind == "model" ? "model file" : "checkpoint",
             fmt::format("{}, {}", result["format"].get<std::string>(),
                         bytes_text(result["bytes"].get<uint64_t>())));
  if (kind == "model") {
    print_description(result["description"]);
  } else {
    print_line("looks like", result["looks_like"].is_null() ? "nothing gaze knows by its keys"
                                                            : result["looks_like"].get<std::string>());
    if (!result["classes"].is_null()) print_line("classes", std::to_string(result["classes"].get<int64_t>()));
    if (result.contains("metadata")) print_line("metadata", values_text(result["metadata"]));
  }
  print_line("weights", fmt::format("{} tensors, {} parameters", result["tensors"].get<int64_t>(),
                                    grouped(result["parameters"].get<int64_t>())));
  print_line("types", values_text(result["dtypes"]));
  if (!result.contains("keys")) return;
  for (const json& key : result["keys"]) {
    std::cout << fmt::format("    {} {} {}\n", key["name"].get<std::string>(), key["shape"].dump(),
                             key["dtype"].get<std::string>());
  }
}

int inspect(const InspectCommand& command) {
  size_t failed = 0;
  for (const std::string& file : command.files) {
    json result;
    try {
      result = is_picture(file) ? inspect_picture(file) : inspect_weights(file, command);
    } catch (const std::exception& error) {
      ++failed;
      warn(error.what());
      result = {{"file", file}, {"error", error.what()}};
      if (!command.json) continue;
    }
    if (command.json) {
      // A name in a file need not be UTF-8; what is not becomes U+FFFD.
      std::cout << result.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
    } else {
      print_text(result);
    }
  }
  if (failed == 0) return kOk;
  return failed < command.files.size() ? kSomeFailed : kFailure;
}

}  // namespace

void add_inspect(CLI::App& app, Run& run) {
  auto command = std::make_shared<InspectCommand>();
  CLI::App* sub = app.add_subcommand("inspect",
                                     "Says what a file is: a model file, a checkpoint of weights "
                                     "(.safetensors, .pth), a picture.\n\nExample:\n"
                                     "  gaze inspect weights/lite0-cbam-caption.safetensors\n"
                                     "Nothing in a file is executed.");
  sub->add_option("files", command->files, "model files, checkpoints, pictures")->required();
  sub->add_flag("--keys", command->keys, "list every tensor: name, shape, type");
  sub->add_flag("--json", command->json, "print a JSON object a line");
  sub->callback([command, &run] { run = [command] { return inspect(*command); }; });
}

}  // namespace gaze::apps
