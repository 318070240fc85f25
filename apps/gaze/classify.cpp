// gaze classify: which classes pictures show.
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/gaze/command.h"
#include "apps/gaze/network_source.h"
#include "apps/gaze/picture_list.h"
#include "models/image/image.h"
#include "models/image/preprocess.h"
#include "modules/core/error.h"

namespace gaze::apps {
namespace {

struct ClassifyCommand {
  std::vector<std::string> paths;
  NetworkSource source;
  std::filesystem::path labels;
  int64_t top = 5;
  models::ImageOptions image;
  bool logits = false, json = false;
  CommonOptions common;
};

// What turns a picture into named probabilities.
struct Classifier {
  std::shared_ptr<models::Backbone> network;
  models::Preprocessing preprocessing;
  std::vector<std::string> labels;
};

std::vector<std::string> read_labels(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    labels.push_back(line);
  }
  if (labels.empty())
    throw FileError(path.string(), "holds no labels", "give a text file with a label a line");
  return labels;
}

std::vector<std::string> labels_of(const models::Backbone& network, const ClassifyCommand& command,
                                   std::vector<std::string> labels) {
  const int64_t classes = network.classes();
  if (!command.labels.empty()) {
    labels = read_labels(command.labels);
    if (static_cast<int64_t>(labels.size()) != classes) {
      throw FileError(command.labels.string(),
                      fmt::format("holds {} labels, but the network has {} classes", labels.size(), classes),
                      "give a label a line, in the order of the classes");
    }
  }
  if (static_cast<int64_t>(labels.size()) == classes) return labels;
  if (classes == static_cast<int64_t>(models::imagenet_labels().size())) return models::imagenet_labels();
  labels.clear();
  for (int64_t k = 0; k < classes; ++k) labels.push_back(fmt::format("class {}", k));
  return labels;
}

Classifier load_classifier(const ClassifyCommand& command) {
  LoadedNetwork loaded = load_network(command.source);
  Classifier classifier{loaded.network, loaded.preprocessing, {}};
  classifier.labels = labels_of(*classifier.network, command, std::move(loaded.labels));
  return classifier;
}

// {"image", "top": [{"index", "label", "probability"}], "logits"?}
nlohmann::json classify_picture(const Classifier& classifier, const std::filesystem::path& path,
                                const ClassifyCommand& command) {
  const at::NoGradGuard no_grad;
  const models::PreparedImage prepared =
      models::preprocess(models::load_image(path, command.image), classifier.preprocessing);
  const at::Tensor logits = classifier.network->forward(prepared.input.unsqueeze(0))[0];  // [K]
  const at::Tensor probabilities = logits.to(at::kDouble).softmax(0);
  const auto [values, indices] = probabilities.topk(std::min(command.top, classifier.network->classes()));
  nlohmann::json result = {{"image", path.string()}, {"top", nlohmann::json::array()}};
  for (int64_t i = 0; i < values.size(0); ++i) {
    const int64_t k = indices[i].item<int64_t>();
    result["top"].push_back({{"index", k},
                             {"label", classifier.labels[static_cast<size_t>(k)]},
                             {"probability", values[i].item<double>()}});
  }
  if (command.logits) {
    const at::Tensor kept = logits.contiguous();
    result["logits"] = std::vector<float>(kept.data_ptr<float>(), kept.data_ptr<float>() + kept.numel());
  }
  return result;
}

void print_text(const nlohmann::json& result) {
  std::cout << result.at("image").get<std::string>() << '\n';
  for (const nlohmann::json& entry : result.at("top")) {
    std::cout << fmt::format("  {:5.1f} %  {}  ({})\n", 100 * entry.at("probability").get<double>(),
                             entry.at("label").get<std::string>(), entry.at("index").get<int64_t>());
  }
  if (result.contains("logits")) std::cout << "  logits " << result.at("logits").dump() << '\n';
}

void print_json(const nlohmann::json& result) {
  // A path need not be UTF-8; what is not becomes U+FFFD.
  std::cout << result.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

int classify(const ClassifyCommand& command) {
  check(command.source);
  apply(command.common);
  const std::vector<std::filesystem::path> pictures = some_pictures(command.paths);
  const Classifier classifier = load_classifier(command);
  size_t failed = 0;
  for (const std::filesystem::path& path : pictures) {
    nlohmann::json result;
    try {
      result = classify_picture(classifier, path, command);
    } catch (const std::exception& error) {
      ++failed;
      warn(error.what());
      if (command.json) print_json({{"image", path.string()}, {"error", error.what()}});
      continue;
    }
    if (command.json) {
      print_json(result);
    } else {
      print_text(result);
    }
  }
  if (failed == 0) return kOk;
  return failed < pictures.size() ? kSomeFailed : kFailure;
}

}  // namespace

void add_classify(CLI::App& app, Run& run) {
  auto command = std::make_shared<ClassifyCommand>();
  CLI::App* sub = app.add_subcommand(
      "classify",
      "Says which classes pictures show, with probabilities.\n\nExample:\n"
      "  gaze classify tests/photos/penguin.jpg --backbone efficientnet_lite0 --weights "
      "weights/cache/efficientnet_lite0.pth\n"
      "(weights/fetch efficientnet_lite0 gets these weights.) Bare weights get ImageNet's preprocessing.");
  sub->add_option("pictures", command->paths, "pictures, or folders of them")->required();
  add_network_options(*sub, command->source);
  sub->add_option("--labels", command->labels,
                  "text file with a label a line; ImageNet's for 1000 classes unless given");
  sub->add_option("--top", command->top, "classes to print a picture")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  sub->add_flag("--logits", command->logits, "print the logits of all classes too");
  sub->add_option("--max-pixels", command->image.max_pixels, "larger pictures are refused")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub->add_flag("--json", command->json, "print a JSON object a line");
  add_common_options(*sub, command->common);
  sub->callback([command, &run] { run = [command] { return classify(*command); }; });
}

}  // namespace gaze::apps
