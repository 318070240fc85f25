// gaze convert as a person runs it.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "models/checkpoint/model_file.h"
#include "models/checkpoint/safetensors.h"
#include "tests/models/checkpoint/golden_networks.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace gaze {
namespace {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ConvertProgram : public ::testing::Test {
 protected:
  static test::ProgramResult convert(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {GAZE_PROGRAM, "convert"});
    return test::run_program(arguments);
  }
  std::string path(const char* file) const { return (folder_.path() / file).string(); }
  std::string write(const char* file, const models::StateDict& state) const {
    models::write_safetensors(path(file), {state, {}});
    return path(file);
  }
  static models::StateDict golden(const char* name) {
    return test::golden_state(test::golden_network_file(name));
  }

  test::TemporaryFolder folder_;
};

TEST_F(ConvertProgram, ToGazeAndBack) {
  const models::StateDict state = golden("timm_cbam_resnet18");
  const std::string in = write("in.safetensors", state), model = path("model.safetensors"),
                    back = path("back.safetensors");
  const test::ProgramResult there = convert({in, model});
  ASSERT_EQ(there.status, 0) << there.err;
  EXPECT_EQ(there.err, "");
  EXPECT_THAT(there.out, StartsWith("recognised: timm resnet18 with cbam in 8 slots\nrenamed (64): "));
  EXPECT_THAT(there.out, HasSubstr("\nplanes swapped (8): layer1.0.attn.0.spatial.conv.weight, "));
  EXPECT_THAT(there.out, EndsWith("\nwritten: " + model + ", a model file, 11,777,352 parameters\n"));
  const json description = models::read_model_file(model).description;
  EXPECT_EQ(description["task"], "classify");
  EXPECT_EQ(description["backbone"],
            json({{"name", "resnet18"}, {"stride", 32}, {"options", {{"classes", 1000}}}}));
  EXPECT_EQ(description["slots"].size(), 8U);
  EXPECT_EQ(description["slots"]["layer1.0.attn"], "cbam(bias=false, hidden=4, kernel=7)");
  EXPECT_EQ(description["preprocessing"]["size"], json({224, 224}));
  EXPECT_EQ(description["labels"].size(), 1000U);
  EXPECT_EQ(description["provenance"],
            json({{"converted_from", "timm resnet18 with cbam in 8 slots"}, {"file", "in.safetensors"}}));

  const test::ProgramResult again = convert({model, back, "--to", "timm", "--json"});
  ASSERT_EQ(again.status, 0) << again.err;
  const json report = json::parse(again.out);
  EXPECT_EQ(report["recognised"], "gaze resnet18");
  EXPECT_EQ(report["to"], "timm");
  EXPECT_EQ(report["parameters"], 11777352);
  EXPECT_EQ(report["python"], "timm.create_model(\"resnet18\", block_args=dict(attn_layer=\"cbam\"))");
  EXPECT_EQ(report["written_as"]["layer1.0.attn.0.spatial.conv.weight"],
            "layer1.0.se.spatial.conv.conv.weight");
  const models::Safetensors written = models::read_safetensors(back);
  EXPECT_EQ(written.metadata.at("format"), "pt");
  ASSERT_EQ(written.tensors.size(), state.size());
  for (const auto& [name, tensor] : state) {
    ASSERT_EQ(written.tensors.count(name), 1U) << name;
    EXPECT_TRUE(at::equal(written.tensors.at(name), tensor)) << name;
  }
}

TEST_F(ConvertProgram, ToTorchvisionKeepsHalfPrecision) {
  models::StateDict state;
  for (const auto& [name, tensor] : golden("timm_se_resnet18")) {
    if (name.find(".se.") == std::string::npos)
      state["module." + name] = tensor.is_floating_point() ? tensor.to(at::kHalf) : tensor;
  }
  const std::string in = write("in.safetensors", state), model = path("model.safetensors");
  const test::ProgramResult there = convert({in, model, "--to", "gaze", "--json"});
  ASSERT_EQ(there.status, 0) << there.err;
  EXPECT_EQ(json::parse(there.out)["recognised"], "torchvision resnet18 under \"module.\"");
  const std::string out = path("out.safetensors");
  const test::ProgramResult back = convert({model, out, "--to", "torchvision"});
  ASSERT_EQ(back.status, 0) << back.err;
  EXPECT_EQ(back.out, "recognised: gaze resnet18\nwritten: " + out +
                          ", safetensors with the names of torchvision, 11,689,512 parameters\nin Python:\n"
                          "  network = torchvision.models.resnet18()\n"
                          "  network.load_state_dict(safetensors.torch.load_file(\"" +
                          out + "\"))\n");
  const models::StateDict written = models::read_safetensors(out).tensors;
  EXPECT_EQ(written.size(), state.size());
  EXPECT_TRUE(at::equal(written.at("layer3.1.conv2.weight"), state.at("module.layer3.1.conv2.weight")));
  EXPECT_EQ(written.at("fc.bias").scalar_type(), at::kHalf);
}

TEST_F(ConvertProgram, SaysWhatCannotBeExpressed) {
  const std::string in = write("in.safetensors", golden("luuuyi_cbam_resnet18")), out = path("o.safetensors");
  const test::ProgramResult torchvision = convert({in, out, "--to", "torchvision"});
  EXPECT_EQ(torchvision.status, 1);
  EXPECT_EQ(torchvision.err, "gaze: " + in +
                                 ": cannot be written with the names of torchvision: [torchvision] expected "
                                 "empty slots; got blocks in layer1.0.attn, layer1.1.attn, layer2.0.attn, "
                                 "layer2.1.attn and 4 more; keep it --to gaze\n");
  const test::ProgramResult timm = convert({in, out, "--to", "timm"});
  EXPECT_EQ(timm.status, 1);
  EXPECT_THAT(timm.err, HasSubstr("[timm] expected cbam with its norm; got cbam("));
  EXPECT_THAT(timm.err, HasSubstr("in layer1.0.attn"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(ConvertProgram, WrongFilesAndFlags) {
  const std::string in = write("in.safetensors", {{"a", at::zeros({2})}}), out = path("o.safetensors");
  const test::ProgramResult unknown = convert({in, out});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_EQ(unknown.out, "");
  EXPECT_EQ(unknown.err, "gaze: " + in +
                             ": holds no network gaze knows: [key_map] expected tensors of a ResNet or of "
                             "EfficientNet-Lite0; got a; see its names with gaze inspect --keys\n");
  models::StateDict state = golden("timm_se_resnet18");
  state["layer1.0.conv1.weight"] = at::zeros({64, 64, 1, 1});
  const test::ProgramResult misfit = convert({write("m.safetensors", state), out});
  EXPECT_EQ(misfit.status, 1);
  EXPECT_THAT(misfit.err,
              HasSubstr("does not fit its network: [load_state_dict] expected the tensors of the "
                        "module; got others\nmis-shaped (1): layer1.0.conv1.weight: expected [64, "
                        "64, 3, 3], file has [64, 64, 1, 1]"));
  EXPECT_EQ(convert({in, out, "--to", "keras"}).status, 2);
  EXPECT_EQ(convert({in}).status, 2);
  const test::ProgramResult same = convert({in, in});
  EXPECT_EQ(same.status, 2);
  EXPECT_EQ(same.err, "gaze: OUT is the same file as IN\n");
  EXPECT_EQ(convert({in, path("o.pth")}).err,
            "gaze: OUT is written as safetensors whatever its name; call it something.safetensors\n");
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace gaze
