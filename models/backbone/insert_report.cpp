#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "models/backbone/insert.h"
#include "modules/core/check.h"
#include "modules/core/number_text.h"

namespace gaze::models {
namespace {

std::string counted(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

using Row = std::array<std::string, 7>;

std::string table(const std::vector<Row>& rows) {
  constexpr std::array<bool, 7> kLeft = {true, true, false, false, false, false, true};
  std::array<size_t, 7> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += i == 0 ? "" : "  ";
      line += kLeft[i] ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("{:>{}}", row[i], widths[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string weights_text(const char* what, const std::vector<LayerWeight>& weights) {
  std::string text;
  for (const LayerWeight& weight : weights)
    text += fmt::format("{} {} {}\n", what, weight.key, shape_text(weight.shape));
  return text;
}

nlohmann::json weights_json(const std::vector<LayerWeight>& weights) {
  nlohmann::json json = nlohmann::json::array();
  for (const LayerWeight& weight : weights) json.push_back({{"key", weight.key}, {"shape", weight.shape}});
  return json;
}

}  // namespace

int64_t InsertReport::parameters() const {
  int64_t sum = 0;
  for (const InsertedBlock& block : inserted) sum += block.parameters;
  for (const RemovedBlock& block : removed) sum -= block.parameters;
  for (const auto& [weights, sign] : {std::pair(&weights_gone, -1), std::pair(&weights_back, 1)}) {
    for (const LayerWeight& weight : *weights) {
      int64_t numbers = sign;
      for (const int64_t size : weight.shape) numbers *= size;
      sum += numbers;
    }
  }
  return sum;
}

int64_t InsertReport::macs() const {
  int64_t sum = 0;
  for (const InsertedBlock& block : inserted) sum += block.macs;
  return sum;
}

bool InsertReport::identity() const {
  return removed.empty() && weights_gone.empty() && weights_back.empty() &&
         std::all_of(inserted.begin(), inserted.end(), [](const auto& block) { return block.identity; });
}

std::string InsertReport::text() const {
  std::vector<Row> rows = {{"slot", "module", "channels", "cells", "parameters", "MACs", "identity"}};
  for (const InsertedBlock& block : inserted) {
    const bool known = block.rows > 0 && block.cols > 0;
    rows.push_back({fmt::format("{}.{}", block.slot, block.index), block.spec, grouped(block.channels),
                    known ? fmt::format("{}x{}", block.rows, block.cols) : "?", grouped(block.parameters),
                    known ? grouped(block.macs) : "?", block.identity ? "yes" : "no"});
  }
  std::string text = inserted.empty() ? "" : table(rows);
  for (const RemovedBlock& block : removed)
    text += fmt::format("removed {} {} ({} parameters)\n", block.slot, block.spec, grouped(block.parameters));
  text += weights_text("gone", weights_gone) + weights_text("back", weights_back);
  text += fmt::format("{} in, {} out: {} parameters", counted(inserted.size(), "block"), removed.size(),
                      (parameters() > 0 ? "+" : "") + grouped(parameters()));
  if (height > 0 && width > 0 && !inserted.empty())
    text += fmt::format(", +{} MACs for a picture of {}x{}", grouped(macs()), height, width);
  return text + "\n";
}

nlohmann::json to_json(const InsertReport& report) {
  using nlohmann::json;
  json inserted = json::array(), removed = json::array();
  for (const InsertedBlock& block : report.inserted) {
    const bool known = block.rows > 0 && block.cols > 0;
    inserted.push_back({{"slot", block.slot},
                        {"index", block.index},
                        {"module", block.spec},
                        {"channels", block.channels},
                        {"cells", known ? json({block.rows, block.cols}) : json(nullptr)},
                        {"parameters", block.parameters},
                        {"macs", known ? json(block.macs) : json(nullptr)},
                        {"identity", block.identity}});
  }
  for (const RemovedBlock& block : report.removed)
    removed.push_back({{"slot", block.slot}, {"module", block.spec}, {"parameters", block.parameters}});
  return {{"inserted", inserted},
          {"removed", removed},
          {"weights_gone", weights_json(report.weights_gone)},
          {"weights_back", weights_json(report.weights_back)},
          {"parameters", report.parameters()},
          {"macs", report.macs()},
          {"input", {report.height, report.width}},
          {"identity", report.identity()}};
}

}  // namespace gaze::models
