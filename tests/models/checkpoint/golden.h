// The checkpoints of tests/golden/checkpoint and what PyTorch says they hold.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/checkpoint/dtypes.h"
#include "models/checkpoint/state_dict.h"

namespace gaze::test {

inline std::filesystem::path golden_checkpoints() {
  return std::filesystem::path(GAZE_SOURCE_DIR) / "tests/golden/checkpoint";
}

inline nlohmann::json expected_checkpoints() {
  std::ifstream stream(golden_checkpoints() / "expected.json");
  return nlohmann::json::parse(stream);
}

inline std::string file_content(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// Same names, dtypes, shapes and values as `expected` describes.
inline void expect_state(const models::StateDict& state, const nlohmann::json& expected) {
  EXPECT_EQ(state.size(), expected.size());
  for (const auto& [name, want] : expected.items()) {
    SCOPED_TRACE(name);
    const auto found = state.find(name);
    if (found == state.end()) {
      ADD_FAILURE() << "missing";
      continue;
    }
    const at::Tensor& tensor = found->second;
    EXPECT_EQ(models::dtype_text(tensor.scalar_type()), want["dtype"].get<std::string>());
    EXPECT_EQ(tensor.sizes().vec(), want["shape"].get<std::vector<int64_t>>());
    const at::Tensor real = tensor.is_complex() ? at::view_as_real(tensor) : tensor;
    const at::Tensor flat = real.to(at::kDouble).reshape({-1}).contiguous();
    const std::vector<double> values(flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
    EXPECT_EQ(values, want["values"].get<std::vector<double>>());
  }
}

}  // namespace gaze::test
