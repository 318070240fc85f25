// gaze insert: attention blocks into a trained network, its weights and its answers kept.
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/gaze/command.h"
#include "apps/gaze/network_source.h"
#include "models/backbone/classifier_file.h"
#include "models/backbone/insert.h"

namespace gaze::apps {
namespace {

struct InsertCommand {
  NetworkSource source;
  std::string at, module, init = "identity";
  bool replace = false, remove = false, dry_run = false, json = false;
  std::filesystem::path out;
  CommonOptions common;
};

void check(const InsertCommand& command) {
  check(command.source);
  if (command.remove && (!command.module.empty() || command.replace))
    throw UsageError("--remove empties slots: it goes with neither --module nor --replace");
  if (!command.remove && command.module.empty())
    throw UsageError("give --module with what goes in, or --remove");
  if (!command.dry_run && command.out.empty())
    throw UsageError("give --out with the file to write, or --dry-run");
}

// The same numbers whatever the seed: what a picture looks like after normalisation.
torch::Tensor fixed_input(const models::Preprocessing& preprocessing) {
  const int64_t height = preprocessing.height, width = preprocessing.width;
  return torch::arange(3 * height * width, torch::kDouble)
      .mul(12.9898)
      .sin()
      .mul(1.5)
      .to(torch::kFloat)
      .view({1, 3, height, width});
}

models::InsertReport change(models::Backbone& network, const models::Preprocessing& preprocessing,
                            const InsertCommand& command) {
  models::InsertOptions options;
  options.init = command.init == "paper" ? Init::paper : Init::identity;
  options.replace = command.replace;
  options.height = preprocessing.height;
  options.width = preprocessing.width;
  if (command.remove) return models::remove(network, command.at, options);
  return models::insert(network, command.at, command.module, options);
}

// A model file stays what it was: its task, its labels, and the very bytes of the weights that stay.
models::ModelFile file_of(LoadedNetwork& loaded) {
  models::ModelFile file =
      models::classifier_file(*loaded.network, loaded.preprocessing, loaded.labels, nlohmann::json::object());
  if (!loaded.model) return file;
  nlohmann::json description = loaded.model->description;
  for (const char* part : {"backbone", "slots"}) description[part] = file.description[part];
  file.description = std::move(description);
  for (const auto& [name, weight] : loaded.model->weights) {
    const auto now = file.weights.find(name);
    const bool of_backbone = name.rfind("backbone.", 0) == 0;
    const bool stays =
        now != file.weights.end() && torch::equal(weight.to(now->second.scalar_type()), now->second);
    if (!of_backbone || stays) file.weights[name] = weight;
  }
  return file;
}

int insert(const InsertCommand& command) {
  check(command);
  std::error_code ignored;
  for (const std::filesystem::path& in : {command.source.model, command.source.weights}) {
    if (!in.empty() && std::filesystem::equivalent(in, command.out, ignored))
      throw UsageError("--out is the file that is read; give it another name");
  }
  apply(command.common);
  const at::NoGradGuard no_grad;
  LoadedNetwork loaded = load_network(command.source);
  const torch::Tensor x = fixed_input(loaded.preprocessing);
  const torch::Tensor before = loaded.network->forward(x);
  const models::InsertReport report = change(*loaded.network, loaded.preprocessing, command);
  const torch::Tensor after = loaded.network->forward(x);
  const double difference = (after - before).abs().max().item<double>();
  const double largest = before.abs().max().item<double>();
  if (!command.dry_run) models::write_model_file(command.out, file_of(loaded));
  if (command.json) {
    nlohmann::json result = to_json(report);
    result["largest_difference"] = difference;
    result["largest_output"] = largest;
    result["file"] = command.dry_run ? nlohmann::json(nullptr) : nlohmann::json(command.out.string());
    std::cout << result.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    std::cout << report.text();
    if (difference == 0) {
      std::cout << "output on a fixed input: bit for bit what it was\n";
    } else {
      std::cout << fmt::format("output on a fixed input: differs by up to {:.3g}; the largest was {:.3g}\n",
                               difference, largest);
    }
    std::cout << (command.dry_run ? "nothing written (--dry-run)" : command.out.string() + " written")
              << '\n';
  }
  return kOk;
}

}  // namespace

void add_insert(CLI::App& app, Run& run) {
  auto command = std::make_shared<InsertCommand>();
  CLI::App* sub = app.add_subcommand(
      "insert",
      "Puts attention blocks into the slots of a trained network, whose weights stay.\n\nExample:\n"
      "  gaze insert --model weights/lite0-cbam-caption.safetensors --at 'blocks.-1.attn' --module se "
      "--dry-run\n"
      "Patterns: * any run, ? any letter, [34] one of, [3-5] a number from 3 to 5, {a,b} and a,b either, -1 "
      "the last.\nSlots of a ResNet's block: pre, mid, conv, skip, attn, post; between.1 ... between the "
      "stages. A slot\nnamed conv replaces a convolution and its weights; a pattern reaches it only where it "
      "ends in conv.");
  add_network_options(*sub, command->source);
  sub->add_option("--at", command->at, "pattern of the slots: 'layer[34].*.attn'")->required();
  sub->add_option("--module", command->module, "what goes in: se, cbam(kernel=3), se+cbam");
  sub->add_option("--init", command->init,
                  "identity: the network answers as before until it is trained on; paper: as published")
      ->check(CLI::IsMember({"identity", "paper"}))
      ->capture_default_str();
  sub->add_flag("--replace", command->replace, "instead of what the slots hold, not behind it");
  sub->add_flag("--remove", command->remove, "empty the slots instead");
  sub->add_flag("--dry-run", command->dry_run, "report, write nothing");
  sub->add_option("--out", command->out, "model file to write");
  sub->add_flag("--json", command->json, "print the report as JSON");
  add_common_options(*sub, command->common);
  sub->callback([command, &run] { run = [command] { return insert(*command); }; });
}

}  // namespace gaze::apps
