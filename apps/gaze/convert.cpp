// gaze convert: weights from one ecosystem's names to another's.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/gaze/command.h"
#include "apps/gaze/convert_captioner.h"
#include "models/backbone/load_backbone.h"
#include "models/checkpoint/export_keys.h"
#include "models/checkpoint/key_map.h"
#include "models/checkpoint/model_file.h"
#include "models/checkpoint/safetensors.h"
#include "models/image/preprocess.h"
#include "modules/core/error.h"
#include "modules/core/number_text.h"

namespace gaze::apps {
namespace {

using nlohmann::json;

struct ConvertCommand {
  std::filesystem::path in, out;
  std::string to = "gaze";
  WordFiles words;
  bool json = false;
};

// A network, whichever kind of file it came from; its weights with the file's types.
struct Source {
  std::optional<models::KeyPlan> plan;  // nothing for a model file
  models::ModelFile model;
  std::shared_ptr<models::Backbone> network;
};

void check(const ConvertCommand& command) {
  const std::string extension = command.out.extension().string();
  if (extension == ".pth" || extension == ".pt" || extension == ".tar")
    throw UsageError("OUT is written as safetensors whatever its name; call it something.safetensors");
  std::error_code ignored;
  if (std::filesystem::equivalent(command.in, command.out, ignored))
    throw UsageError("OUT is the same file as IN");
  for (const std::filesystem::path& words : {command.words.word_map, command.words.vocab}) {
    if (!words.empty() && std::filesystem::equivalent(words, command.out, ignored))
      throw UsageError("OUT is the same file as the words");
  }
}

std::shared_ptr<models::Backbone> network_of(const ConvertCommand& command, const models::ModelFile& model) {
  try {
    return models::load_backbone(model);
  } catch (const ArgumentError& error) {
    throw FileError(command.in.string(), fmt::format("does not fit its network: {}", error.what()),
                    "see its names with gaze inspect --keys");
  }
}

Source read_source(const ConvertCommand& command) {
  Source source;
  if (models::is_model_file(command.in)) {
    if (command.to == "gaze")
      throw FileError(command.in.string(), "is a model file of gaze already",
                      "convert it --to torchvision or timm");
    source.model = models::read_model_file(command.in);
  } else {
    models::MappedNetwork mapped = models::read_network(command.in);
    source.model = models::model_of(mapped);
    source.plan = std::move(mapped.plan);
  }
  source.network = network_of(command, source.model);
  return source;
}

int64_t parameters_of(const models::Backbone& network) {
  int64_t count = 0;
  for (const at::Tensor& parameter : network.parameters()) count += parameter.numel();
  return count;
}

// What is left to say of the model: the network's stride, preprocessing and labels, and where it is from.
void write_gaze(const ConvertCommand& command, Source& source) {
  json& description = source.model.description;
  const models::Backbone& network = *source.network;
  description["backbone"]["stride"] = network.stride();
  description["backbone"]["options"] = models::to_json(network.options());
  description["preprocessing"] = models::to_json(network.preprocessing());
  if (network.classes() == static_cast<int64_t>(models::imagenet_labels().size()))
    description["labels"] = models::imagenet_labels();
  description["provenance"] = {{"converted_from", source.plan->network()},
                               {"file", command.in.filename().string()}};
  models::write_model_file(command.out, source.model);
}

models::ExportedNetwork write_foreign(const ConvertCommand& command, const Source& source) {
  models::NetworkDescription network{source.network->name(), models::to_json(source.network->options()), {}};
  for (const Slot& slot : source.network->slots()) {
    if (!slot->empty()) network.slots[slot->full_name()] = slot->spec();
  }
  const models::Ecosystem to =
      command.to == "timm" ? models::Ecosystem::timm : models::Ecosystem::torchvision;
  models::ExportedNetwork exported;
  try {
    exported = models::export_keys(network, models::with_prefix(source.model.weights, "backbone."), to);
  } catch (const ArgumentError& error) {
    throw FileError(command.in.string(),
                    fmt::format("cannot be written with the names of {}: {}", command.to, error.what()),
                    "keep it --to gaze");
  }
  models::write_safetensors(command.out, {exported.weights, {{"format", "pt"}}});
  return exported;
}

json report_of(const ConvertCommand& command, const Source& source) {
  json report = source.plan ? models::report_json(*source.plan)
                            : json({{"recognised", "gaze " + source.network->name()},
                                    {"backbone", source.network->name()},
                                    {"slots", source.model.description.value("slots", json::object())}});
  report["options"] = models::to_json(source.network->options());
  report["in"] = command.in.string();
  report["out"] = command.out.string();
  report["to"] = command.to;
  report["parameters"] = parameters_of(*source.network);
  return report;
}

// A captioner that others have published; nothing for a file that holds none.
std::optional<models::PublishedCaptioner> captioner_in(const ConvertCommand& command) {
  if (models::is_model_file(command.in)) return std::nullopt;
  try {
    return models::published_captioner(models::read_state_dict(command.in));
  } catch (const ArgumentError& error) {
    throw FileError(command.in.string(), fmt::format("is a captioner gaze cannot read: {}", error.what()),
                    "see its names with gaze inspect --keys");
  }
}

int convert_captioner(const ConvertCommand& command, const models::PublishedCaptioner& captioner) {
  if (command.to != "gaze") {
    throw FileError(
        command.in.string(),
        fmt::format("holds a captioner, {}, for which {} has no names", captioner.name, command.to),
        "convert it --to gaze");
  }
  json report = convert_captioner(command.in, command.out, captioner, command.words);
  report["in"] = command.in.string();
  report["out"] = command.out.string();
  if (command.json) {
    std::cout << report.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
  } else {
    std::cout << fmt::format(
        "recognised: {}, {} with {} words\nwritten: {}, a model file, {} parameters\ntry: gaze caption "
        "PICTURE "
        "--model {}\n",
        captioner.name, captioner.backbone, captioner.vocabulary(), command.out.string(),
        grouped(report["parameters"]), command.out.string());
  }
  return kOk;
}

int convert(const ConvertCommand& command) {
  check(command);
  if (const auto captioner = captioner_in(command)) return convert_captioner(command, *captioner);
  if (command.words.given())
    throw UsageError("--word-map and --vocab: IN holds no captioner, so that it has no words");
  Source source = read_source(command);
  json report = report_of(command, source);
  std::string text = source.plan ? models::report_text(*source.plan)
                                 : fmt::format("recognised: gaze {}", source.network->name());
  const std::string parameters = grouped(parameters_of(*source.network));
  if (command.to == "gaze") {
    write_gaze(command, source);
    text += fmt::format("\nwritten: {}, a model file, {} parameters", command.out.string(), parameters);
  } else {
    const models::ExportedNetwork exported = write_foreign(command, source);
    json& renamed = report["written_as"] = json::object();
    for (const models::KeyPlan::Move& move : exported.moves) {
      if (move.from != move.to) renamed[move.from] = move.to;
    }
    report["python"] = exported.python;
    text += fmt::format(
        "\nwritten: {}, safetensors with the names of {}, {} parameters\nin Python:\n  network = {}\n"
        "  network.load_state_dict(safetensors.torch.load_file(\"{}\"))",
        command.out.string(), command.to, parameters, exported.python, command.out.string());
  }
  std::cout << (command.json ? report.dump(-1, ' ', false, json::error_handler_t::replace) : text) << '\n';
  return kOk;
}

}  // namespace

void add_convert(CLI::App& app, Run& run) {
  auto command = std::make_shared<ConvertCommand>();
  CLI::App* sub = app.add_subcommand(
      "convert",
      "Weights from one ecosystem's names to another's.\n\nExample:\n"
      "  gaze convert weights/cache/efficientnet_lite0.pth lite0.safetensors --to gaze\n"
      "(weights/fetch efficientnet_lite0 gets these weights.) Reads .pth, .pth.tar, .pt and .safetensors of "
      "torchvision, timm (se, cbam, eca, legacy_se* of bottlenecks), the authors' CBAM, luuuyi's CBAM, "
      "moskomule's SE, "
      "Cadene's "
      "and ECANet's networks, told by their keys, and gaze's model files. --to gaze writes a model file with "
      "torchvision's preprocessing; --to torchvision or timm writes safetensors with their keys. Of a "
      "captioner,\nsgrvinod's BEST_checkpoint_*.pth.tar with --word-map or CATR's weights*.pth with --vocab, "
      "one "
      "caption model is\nwritten, words and preprocessing inside. Nothing in a file is executed.");
  sub->add_option("in", command->in, "weights, or a model file")->required();
  sub->add_option("out", command->out, "file to write: safetensors")->required();
  sub->add_option("--to", command->to, "whose names to write")
      ->check(CLI::IsMember({"gaze", "torchvision", "timm"}))
      ->capture_default_str();
  CLI::Option* word_map =
      sub->add_option("--word-map", command->words.word_map,
                      "words of a captioner: the WORDMAP_*.json beside sgrvinod's checkpoint");
  sub->add_option("--vocab", command->words.vocab, "words of a captioner: BERT's vocab.txt, for CATR's")
      ->excludes(word_map);
  sub->add_flag("--json", command->json, "print the report as a JSON object: every key renamed");
  sub->callback([command, &run] { run = [command] { return convert(*command); }; });
}

}  // namespace gaze::apps
