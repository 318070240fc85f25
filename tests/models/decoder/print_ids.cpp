// print_ids FILE < LINES: the ids of each line of stdin by a tokenizer, separated by spaces, and the seconds
// that encoding took on stderr. FILE is the JSON of a model file's tokenizer. The figures compare the ids
// with those of the original tokenizers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/decoder/tokenizer.h"

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: print_ids FILE < LINES\n";
    return 2;
  }
  try {
    std::ifstream stream(arguments[1]);
    const auto tokenizer = gaze::models::tokenizer_from_json(nlohmann::json::parse(stream));
    std::vector<std::string> lines;
    for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
    std::vector<std::vector<int64_t>> ids;
    ids.reserve(lines.size());
    const auto start = std::chrono::steady_clock::now();
    for (const std::string& line : lines) ids.push_back(tokenizer->encode(line));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    for (const std::vector<int64_t>& line : ids) std::cout << fmt::format("{}\n", fmt::join(line, " "));
    std::cerr << fmt::format("{:.3f}\n", seconds.count());
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
