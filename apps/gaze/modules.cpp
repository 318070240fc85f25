// gaze modules: the table of what can stand in a slot.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/gaze/command.h"
#include "modules/attention/registry.h"
#include "modules/core/number_text.h"

namespace gaze::apps {
namespace {

using nlohmann::json;
using Row = std::vector<std::string>;

// A Markdown table whose columns stand below each other on a terminal too.
std::string table_text(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size(), 3);
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  const auto add = [&](const Row& row, char fill) {
    for (size_t i = 0; i < row.size(); ++i)
      text += "| " + row[i] + std::string(widths[i] - row[i].size(), fill) + ' ';
    text += "|\n";
  };
  add(rows.front(), ' ');
  add(Row(widths.size()), '-');
  for (size_t i = 1; i < rows.size(); ++i) add(rows[i], ' ');
  return text;
}

std::string usual_text(const OptionDescription& option) {
  return option.usual.empty() ? "(needed)" : option.usual;
}

std::string modules_table(const std::vector<BlockDescription>& blocks) {
  std::vector<Row> rows = {{"module", "paper", "parameters", "MACs", "0 with init=identity", "maps",
                            "options with their usual values"}};
  for (const BlockDescription& block : blocks) {
    Row options;
    for (const OptionDescription& option : block.options)
      options.push_back(fmt::format("{}={}", option.name, usual_text(option)));
    rows.push_back({fmt::format("`{}`", block.card.example), block.card.paper, grouped(block.parameters),
                    grouped(block.macs), fmt::format("`{}`", block.card.identity), block.card.maps,
                    fmt::format("{}", fmt::join(options, ", "))});
  }
  return table_text(rows);
}

// Each option once, with the modules that take it.
std::string options_table(const std::vector<BlockDescription>& blocks) {
  std::vector<Row> rows = {{"option", "of", "what it is"}};
  for (const BlockDescription& block : blocks) {
    for (const OptionDescription& option : block.options) {
      const std::string name = fmt::format("`{}`", option.name);
      const auto same = std::find_if(rows.begin(), rows.end(),
                                     [&](const Row& row) { return row[0] == name && row[2] == option.text; });
      if (same == rows.end()) {
        rows.push_back({name, block.card.name, option.text});
      } else {
        (*same)[1] += std::string(", ") + block.card.name;
      }
    }
  }
  return table_text(rows);
}

json block_json(const BlockDescription& block) {
  json options = json::array();
  for (const OptionDescription& option : block.options) {
    options.push_back({{"name", option.name},
                       {"usual", option.usual.empty() ? json(nullptr) : json(option.usual)},
                       {"text", option.text}});
  }
  return {{"name", block.card.name},
          {"spec", block.card.example},
          {"paper", block.card.paper},
          {"options", options},
          {"at", {described_place().channels, kDescribedSide, kDescribedSide}},
          {"parameters", block.parameters},
          {"macs", block.macs},
          {"identity", block.card.identity},
          {"maps", block.card.maps}};
}

int modules(bool as_json) {
  const std::vector<BlockDescription> blocks = describe_blocks();
  if (as_json) {
    for (const BlockDescription& block : blocks) std::cout << block_json(block).dump() << '\n';
  } else {
    std::cout << modules_table(blocks) << '\n' << options_table(blocks);
  }
  return kOk;
}

}  // namespace

void add_modules(CLI::App& app, Run& run) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* sub = app.add_subcommand(
      "modules", fmt::format("Lists the attention modules that a slot can hold, with their options.\n\n"
                             "Example:\n  gaze modules\n"
                             "Parameters and MACs are those of one module at {} channels and {} x {} cells.",
                             described_place().channels, kDescribedSide, kDescribedSide));
  sub->add_flag("--json", *as_json, "print a JSON object a line, one a module");
  sub->callback([as_json, &run] { run = [as_json] { return modules(*as_json); }; });
}

}  // namespace gaze::apps
