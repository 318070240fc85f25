// Every checkpoint PyTorch and safetensors wrote is read with its names, types, shapes and values.
#include "tests/models/checkpoint/golden.h"

#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

#include "models/checkpoint/state_dict.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

using test::expected_checkpoints;
using test::golden_checkpoints;

TEST(GoldenCheckpoints, HoldWhatTheOriginalsSaved) {
  const nlohmann::json expected = expected_checkpoints();
  ASSERT_GE(expected["files"].size(), 17U);
  for (const auto& [file, state] : expected["files"].items()) {
    SCOPED_TRACE(file);
    ASSERT_NO_THROW(test::expect_state(read_state_dict(golden_checkpoints() / file),
                                       expected["states"][state.get<std::string>()]));
  }
}

TEST(GoldenCheckpoints, FormatIsToldByContent) {
  test::TemporaryFolder folder;
  const auto format_of = [&](const char* file) {
    const std::filesystem::path renamed = folder.path() / "weights.bin";
    test::write_file(renamed, test::file_content(golden_checkpoints() / file));
    return read_checkpoint(renamed).format;
  };
  EXPECT_EQ(format_of("types.safetensors"), CheckpointFormat::safetensors);
  EXPECT_EQ(format_of("zip_plain.pth"), CheckpointFormat::torch_zip);
  EXPECT_EQ(format_of("legacy_plain.pth"), CheckpointFormat::torch_legacy);
}

TEST(GoldenCheckpoints, NamesOfFilesDoNotMatter) {
  test::TemporaryFolder folder;
  for (const char* file : {"zip_wrapped.pth", "legacy_wrapped.pth"}) {
    const std::filesystem::path renamed = folder.path() / "model_best.pth.tar";
    test::write_file(renamed, test::file_content(golden_checkpoints() / file));
    const nlohmann::json expected = expected_checkpoints();
    test::expect_state(read_state_dict(renamed),
                       expected["states"][expected["files"][file].get<std::string>()]);
  }
}

TEST(GoldenCheckpoints, SharedStoragesAreSharedAgain) {
  for (const char* file : {"zip_views.pth", "legacy_views.pth"}) {
    SCOPED_TRACE(file);
    const StateDict state = read_state_dict(golden_checkpoints() / file);
    state.at("base")[3] = 100;
    EXPECT_EQ(state.at("slice")[0].item<float>(), 100);
    EXPECT_EQ(state.at("transposed")[3][0].item<float>(), 100);
    EXPECT_EQ(state.at("transposed").strides().vec(), (std::vector<int64_t>{1, 4}));
    EXPECT_EQ(state.at("scalar").item<float>(), 2.5F);
  }
}

TEST(GoldenCheckpoints, CallsAreNotMade) {
  const std::filesystem::path trace = std::filesystem::current_path() / "gaze_was_here";
  ASSERT_FALSE(std::filesystem::exists(trace));
  for (const char* file : {"zip_call.pth", "legacy_call.pth"}) {
    const std::string path = (golden_checkpoints() / file).string();
    EXPECT_THROWS_WITH(read_state_dict(path), FileError,
                       path +
                           ": holds an object made by posix.system, not a state dict (nothing of it was "
                           "run); save it in Python "
                           "with torch.save(model.state_dict(), FILE)");
  }
  const std::string plain = (golden_checkpoints() / "plain_call.pkl").string();
  EXPECT_THROWS_WITH(read_state_dict(plain), FileError,
                     plain +
                         ": is a plain pickle of posix.system, not a PyTorch checkpoint (nothing of it was "
                         "run); save it in Python "
                         "with torch.save(model.state_dict(), FILE)");
  EXPECT_FALSE(std::filesystem::exists(trace));
}

TEST(GoldenCheckpoints, WhatIsNotReadSaysSo) {
  const auto expect_error = [](const char* file, const std::string& text) {
    const std::string path = (golden_checkpoints() / file).string();
    EXPECT_THROWS_WITH(read_state_dict(path), FileError, path + ": " + text);
  };
  const std::string save = "; save it in Python with torch.save(model.state_dict(), FILE)";
  expect_error("plain.pkl", "is a plain pickle, not a PyTorch checkpoint (nothing of it was run)" + save);
  expect_error("zip_sparse.pth",
               "has a tensor \"weight\" of a kind that is not read (torch._utils._rebuild_sparse_tensor); "
               "save it as a dense tensor "
               "(.dequantize(), .to_dense())");
  expect_error("zip_no_tensors.pth", "holds no tensors by name; its entries are epoch, names" + save);
  expect_error("zip_script.pt",
               "is a TorchScript program, not a state dict; save it in Python with "
               "torch.save(torch.jit.load(FILE).state_dict(), NEW)");
  expect_error("zip_big_endian.pth",
               "was saved on a big-endian machine; save it again on a little-endian machine");
  expect_error(
      "zip_compressed.pth",
      "has a compressed entry, \"zip_plain/.data/serialization_id\", which torch.save does not write" + save);
  expect_error("zip_twice.pth",
               "is damaged: as a zip archive it names an entry twice; copy or download it again");
}

}  // namespace
}  // namespace gaze::models
