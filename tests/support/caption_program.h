// gaze caption as a person runs it, on a small model with random weights and pictures of all colours.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "models/captioner/captioner.h"
#include "models/image/image.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_captioner.h"

namespace gaze::test {

class CaptionProgramTest : public ::testing::Test {
 protected:
  using Words = std::vector<std::string>;

  static void SetUpTestSuite() {
    TinyCaptioner tiny;
    tiny.ends = false;
    models::write_model_file(model(), tiny_caption_model(tiny));
  }

  static std::string model() {
    static const TemporaryFolder folder;
    return (folder.path() / "model.safetensors").string();
  }

  // In this test's own folder.
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  // Makes a picture with its folders; different for each colour.
  std::string add_picture(const std::string& name, int64_t colour = 0, int64_t size = 24) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    models::Image image{size, size, {}, 1};
    for (int64_t i = 0; i < size * size; ++i) {
      for (const int64_t step : {37, 59, 83})
        image.rgb.push_back(static_cast<uint8_t>(step * (colour + 1) + i * (colour % 5)));
    }
    const std::string own = path("own.png");  // the name may be no picture's
    models::save_image(image, own);
    std::filesystem::rename(own, path(name));
    return path(name);
  }

  // 00.png, 01.png ... in a folder; returns its path.
  std::string add_folder(const std::string& name, int64_t count) const {
    for (int64_t i = 0; i < count; ++i)
      add_picture(name + "/" + std::to_string(i / 10) + std::to_string(i % 10) + ".png", i);
    return path(name);
  }

  std::string add_file(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  static Words command(const Words& arguments) {
    Words all{GAZE_PROGRAM, "caption", "--model", model(), "--threads", "1", "--max-words", "4"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }

  static ProgramResult caption(const Words& arguments) { return run_program(command(arguments)); }

  // With `list` on standard input.
  ProgramResult caption_listed(const std::string& list, const Words& arguments) const {
    Words all{"sh", "-c", "list=$1; shift; exec \"$@\" <\"$list\"", "sh", add_file("list", list)};
    const Words rest = command(arguments);
    all.insert(all.end(), rest.begin(), rest.end());
    return run_program(all);
  }

  static std::string text(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  static std::vector<nlohmann::json> json_lines(const std::string& text) {
    std::istringstream stream(text);
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(stream, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }

  // The pictures of JSON lines that were captioned, in their order.
  static Words captioned(const std::string& text) {
    Words images;
    for (const nlohmann::json& line : json_lines(text)) {
      if (line.contains("captions")) images.push_back(line["image"]);
    }
    return images;
  }

  static int64_t line_count(const std::string& file) {
    const std::string all = text(file);
    return std::count(all.begin(), all.end(), '\n');
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace gaze::test
