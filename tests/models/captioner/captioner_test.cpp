#include "models/captioner/captioner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "models/backbone/insert.h"
#include "models/decoder/caption_decoder.h"
#include "models/decoder/vocabulary.h"
#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kClasses = 10;

struct Parts {
  std::shared_ptr<Backbone> backbone;
  CaptionDecoder decoder{nullptr};
  Vocabulary vocabulary = Vocabulary::from_captions({"a red ball left of two green cubes on sand"});
  Preprocessing preprocessing;
};

// A whole captioner with random weights: 96 x 64 inputs, so maps of 3 rows and 2 columns.
Parts make_parts(const std::string& spec = "none", bool class_evidence = true) {
  torch::manual_seed(4);
  Parts parts;
  parts.backbone = make_backbone("resnet18", kClasses);
  insert(*parts.backbone, "layer[34].*.attn", spec, {Init::paper});
  parts.backbone->eval();
  CaptionDecoderOptions options;
  options.vocabulary = parts.vocabulary.size();
  options.visual_width = class_evidence ? kClasses : 512;
  options.class_evidence = class_evidence;
  options.width = 16;
  options.heads = 2;
  options.feed_forward = 32;
  options.max_tokens = 9;
  parts.decoder = CaptionDecoder(options);
  parts.decoder->eval();
  torch::NoGradGuard no_grad;
  parts.decoder->named_parameters()["output.weight"].mul_(3);
  parts.preprocessing.height = 96;
  parts.preprocessing.width = 64;
  parts.preprocessing.mode = ResizeMode::squash;
  parts.preprocessing.mean = {0.5F, 0.4F, 0.3F};
  return parts;
}

ModelFile make_model(Parts& parts) {
  return make_model_file(*parts.backbone, *parts.decoder, parts.vocabulary, parts.preprocessing,
                         {{"seed", 4}});
}

// Blocks of random colours.
Image picture(uint32_t seed, int64_t width, int64_t height) {
  std::mt19937 random(seed);
  std::vector<uint8_t> colours(3 * 16);
  for (uint8_t& value : colours) value = static_cast<uint8_t>(random() % 256);
  Image image{width, height, {}, 1};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const int64_t block = (4 * y / height) * 4 + 4 * x / width;
      for (int64_t c = 0; c < 3; ++c) image.rgb.push_back(colours[static_cast<size_t>(block * 3 + c)]);
    }
  }
  return image;
}

std::string error_of(const ModelFile& model) {
  try {
    const Captioner captioner(model);
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Captioner, is_backbone_decoder_and_vocabulary_joined) {
  for (const bool class_evidence : {true, false}) {
    Parts parts = make_parts("none", class_evidence);
    ModelFile model = make_model(parts);
    model.weights.clear();  // in float32, so that the parts give the same numbers
    for (const auto& [name, tensor] : state_dict(*parts.backbone)) model.weights["backbone." + name] = tensor;
    for (const auto& [name, tensor] : state_dict(*parts.decoder)) model.weights["decoder." + name] = tensor;
    Captioner captioner(model);
    const Image image = picture(1, 50, 40);
    SearchOptions options;
    options.best = 2;
    const CaptionedImage result = captioner.caption({image}, options)[0];

    torch::NoGradGuard no_grad;
    const torch::Tensor x = preprocess(image, parts.preprocessing).input.unsqueeze(0);
    const torch::Tensor visual =
        class_evidence ? parts.backbone->class_evidence(x) : parts.backbone->stages(x).back().value;
    const auto expected = search(*parts.decoder, parts.decoder->embed_picture(visual), options)[0];
    EXPECT_EQ(result.rows, 3);
    EXPECT_EQ(result.cols, 2);
    ASSERT_EQ(result.captions.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const Caption& caption = result.captions[i];
      EXPECT_EQ(caption.tokens, expected[i].tokens);
      EXPECT_EQ(caption.text, parts.vocabulary.decode(expected[i].tokens));
      EXPECT_DOUBLE_EQ(caption.log_probability, expected[i].log_probability);
      EXPECT_DOUBLE_EQ(caption.score, expected[i].score);
      EXPECT_EQ(caption.finished, expected[i].finished);
      ASSERT_EQ(caption.words.size(), expected[i].tokens.size() - (expected[i].finished ? 1 : 0));
      for (size_t w = 0; w < caption.words.size(); ++w) {
        EXPECT_EQ(caption.words[w].text, parts.vocabulary.word(expected[i].tokens[w]));
        EXPECT_DOUBLE_EQ(caption.words[w].log_probability, expected[i].log_probabilities[w]);
        for (int64_t cell = 0; cell < 6; ++cell) {
          const torch::Tensor both = expected[i].maps[w];  // [2, 6]
          const float mean = (both[0][cell].item<float>() + both[1][cell].item<float>()) / 2;
          EXPECT_FLOAT_EQ(caption.words[w].map[cell / 2][cell % 2].item<float>(), mean);
          EXPECT_FLOAT_EQ(caption.words[w].head_maps[1][cell / 2][cell % 2].item<float>(),
                          both[1][cell].item<float>());
        }
        EXPECT_EQ(caption.words[w].evidence.empty(), !class_evidence);
      }
    }
    EXPECT_EQ(result.evidence.probabilities.defined(), class_evidence);
  }
}

TEST(Captioner, a_batch_gives_what_single_pictures_give) {
  Parts parts = make_parts();
  Captioner captioner(make_model(parts));
  const std::vector<Image> images = {picture(1, 50, 40), picture(2, 8, 200), picture(3, 1, 1)};
  const auto together = captioner.caption(images, SearchOptions());
  ASSERT_EQ(together.size(), 3U);
  for (size_t b = 0; b < 3; ++b) {
    const CaptionedImage alone = captioner.caption({images[b]}, SearchOptions())[0];
    EXPECT_EQ(together[b].captions[0].text, alone.captions[0].text);
    EXPECT_NEAR(together[b].captions[0].log_probability, alone.captions[0].log_probability, 1e-4);
    EXPECT_EQ(together[b].geometry.width, images[b].width);
    EXPECT_EQ(together[b].geometry.height, images[b].height);
  }
  EXPECT_TRUE(captioner.caption({}, SearchOptions()).empty());
}

TEST(Captioner, words_say_what_stood_where_they_looked) {
  Parts parts = make_parts();
  ModelFile model = make_model(parts);
  const std::vector<std::string> labels = {"ant", "bee", "cat", "dog",  "elk",
                                           "fox", "gnu", "hen", "ibex", "jay"};
  model.description["labels"] = labels;
  Captioner captioner(model);
  EXPECT_EQ(captioner.labels(), labels);
  const CaptionedImage result = captioner.caption({picture(5, 40, 60)}, SearchOptions())[0];
  ASSERT_EQ(result.evidence.probabilities.sizes(), (std::vector<int64_t>{6, kClasses}));
  ASSERT_FALSE(result.captions[0].words.empty());
  for (const CaptionWord& word : result.captions[0].words) {
    EXPECT_NEAR(word.map.sum().item<double>(), 1, 1e-5);
    std::vector<std::pair<double, std::string>> expected;
    for (int64_t k = 0; k < kClasses; ++k) {
      double weight = 0;
      for (int64_t s = 0; s < 6; ++s) {
        weight += word.map[s / 2][s % 2].item<double>() * result.evidence.probabilities[s][k].item<double>();
      }
      expected.emplace_back(weight, labels[static_cast<size_t>(k)]);
    }
    std::sort(expected.rbegin(), expected.rend());
    ASSERT_EQ(word.evidence.size(), 3U);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(word.evidence[i].label, expected[i].second);
      EXPECT_NEAR(word.evidence[i].weight, expected[i].first, 1e-6);
    }
  }
}

TEST(Captioner, keeps_the_maps_of_the_backbone_when_asked) {
  Parts parts = make_parts("cbam(reduction=16)");
  Captioner captioner(make_model(parts));
  const auto results = captioner.caption({picture(1, 64, 96), picture(2, 64, 96)}, SearchOptions(), true);
  std::vector<std::string> names;
  for (const AttentionMap& map : results[0].maps) names.push_back(map.name);
  EXPECT_THAT(names, ::testing::Contains("layer4.1.attn.0/spatial"));
  EXPECT_THAT(names, ::testing::Contains("layer3.0.attn.0/channel"));
  EXPECT_EQ(names.size(), 8U);
  for (const AttentionMap& map : results[1].maps) {
    EXPECT_EQ(map.values.size(0), 1);
    if (map.name == "layer4.1.attn.0/spatial") EXPECT_EQ(map.values.sizes(), (std::vector<int64_t>{1, 3, 2}));
  }
  EXPECT_TRUE(captioner.caption({picture(1, 64, 96)}, SearchOptions())[0].maps.empty());
}

TEST(Captioner, survives_its_file) {
  const test::TemporaryFolder folder;
  Parts parts = make_parts("se+cbam(kernel=3)");
  const ModelFile model = make_model(parts);
  EXPECT_EQ(model.weights.at("backbone.conv1.weight").scalar_type(), torch::kHalf);
  EXPECT_EQ(model.weights.at("backbone.bn1.running_var").scalar_type(), torch::kFloat);
  EXPECT_EQ(model.weights.count("backbone.bn1.num_batches_tracked"), 0U);
  EXPECT_EQ(model.description["slots"].size(), 4U);
  write_model_file(folder.path() / "model.safetensors", model);
  Captioner from_memory(model), from_file = Captioner::load(folder.path() / "model.safetensors");
  const Image image = picture(6, 30, 30);
  const auto a = from_memory.caption({image}, SearchOptions())[0],
             b = from_file.caption({image}, SearchOptions())[0];
  EXPECT_EQ(a.captions[0].text, b.captions[0].text);
  EXPECT_EQ(a.captions[0].log_probability, b.captions[0].log_probability);
  EXPECT_EQ(from_file.preprocessing().mean, parts.preprocessing.mean);
}

TEST(Captioner, the_model_file_does_not_share_memory_with_the_network) {
  Parts parts = make_parts();
  const ModelFile model = make_model(parts);
  const torch::Tensor before = model.weights.at("decoder.output.bias").clone();
  torch::NoGradGuard no_grad;
  parts.decoder->named_parameters()["output.bias"].add_(1);
  EXPECT_TRUE(before.equal(model.weights.at("decoder.output.bias")));
}

TEST(Captioner, a_parameter_without_elements_is_written_too) {
  Parts parts = make_parts();
  CaptionDecoderOptions options = parts.decoder->options();
  for (int64_t k = 0; k < kClasses; ++k) {
    options.groups.push_back(k);
    options.group_words.push_back(4 + k);
  }
  parts.decoder = CaptionDecoder(options);
  ModelFile model = make_model(parts);
  EXPECT_EQ(model.weights.at("decoder.nameless").numel(), 0);
  EXPECT_EQ(Captioner(model).decoder().describe()["group_words"], nlohmann::json(options.group_words));
}

TEST(Captioner, weights_beyond_half_stay_float) {
  Parts parts = make_parts();
  torch::NoGradGuard no_grad;
  parts.backbone->named_parameters()["conv1.weight"][0][0][0][0] = 1e5;
  EXPECT_EQ(make_model(parts).weights.at("backbone.conv1.weight").scalar_type(), torch::kFloat);
}

TEST(Captioner, takes_the_person_s_own_network) {
  Parts parts = make_parts();
  Captioner captioner(make_model(parts));
  torch::manual_seed(9);
  const std::shared_ptr<Backbone> own = make_backbone("resnet34", kClasses);
  own->train();
  captioner.use_backbone(own);
  EXPECT_FALSE(own->is_training());
  EXPECT_EQ(captioner.preprocessing().height, 96);
  EXPECT_EQ(captioner.preprocessing().mode, ResizeMode::squash);
  EXPECT_EQ(captioner.preprocessing().mean, own->preprocessing().mean);
  const Image image = picture(1, 50, 40);
  const CaptionedImage result = captioner.caption({image}, SearchOptions())[0];

  torch::NoGradGuard no_grad;
  const torch::Tensor x = preprocess(image, captioner.preprocessing()).input.unsqueeze(0);
  const torch::Tensor expected = own->class_evidence(x)[0].flatten(1).t().softmax(1);
  EXPECT_LT((result.evidence.probabilities - expected).abs().max().item<double>(), 1e-6);
}

TEST(Captioner, refuses_a_network_that_cannot_stand_in) {
  Parts parts = make_parts();
  Captioner captioner(make_model(parts));
  EXPECT_THROWS_WITH(captioner.use_backbone(make_backbone("resnet18", 7)), ArgumentError,
                     "[captioner] expected a backbone with 10 classes; got resnet18 with 7");
  Parts featured = make_parts("none", false);
  Captioner by_features(make_model(featured));
  EXPECT_THROWS_WITH(by_features.use_backbone(make_backbone("resnet18", kClasses)), ArgumentError,
                     "[captioner] expected a decoder of class evidence, to use it with another backbone; got "
                     "one of features");
}

TEST(Captioner, says_which_part_of_the_model_differs) {
  Parts parts = make_parts();
  const ModelFile good = make_model(parts);
  ModelFile model = good;
  model.description["task"] = "classify";
  EXPECT_EQ(error_of(model), "[captioner] expected a model of the task \"caption\"; got task \"classify\"");

  model = good;
  model.description.erase("decoder");
  EXPECT_EQ(error_of(model), "[captioner] expected a model with \"decoder\"; got one without");

  model = good;
  model.description["backbone"]["name"] = "resnet19";
  EXPECT_THAT(
      error_of(model),
      StartsWith("[captioner] the model's backbone does not fit: [backbone] unknown network \"resnet19\""));

  model = good;
  model.description["backbone"]["name"] = "resnet34";
  EXPECT_THAT(error_of(model), StartsWith("[captioner] the model's backbone does not fit: "));
  EXPECT_THAT(error_of(model), HasSubstr("layer1.2.bn1.bias"));

  model = good;
  model.weights["backbone.layer1.0.conv1.weight"] = torch::zeros({64, 64, 1, 1});
  EXPECT_THAT(error_of(model),
              HasSubstr("layer1.0.conv1.weight: expected [64, 64, 3, 3], file has [64, 64, 1, 1]"));

  model = good;
  model.weights.erase("decoder.layers.1.cross.key.weight");
  EXPECT_THAT(error_of(model), StartsWith("[captioner] the model's decoder does not fit: "));
  EXPECT_THAT(error_of(model), HasSubstr("layers.1.cross.key.weight"));

  model = good;
  model.description["tokenizer"]["data"].push_back("zebra");
  EXPECT_EQ(error_of(model),
            "[captioner] the model's decoder does not fit: [captioner] expected the tokenizer's 15 words; "
            "got vocabulary 14");

  model = good;
  model.description["tokenizer"]["kind"] = "bytes";
  EXPECT_THAT(error_of(model), StartsWith("[captioner] the model's tokenizer does not fit: "));

  model = good;
  model.description["preprocessing"]["mode"] = "stretch";
  EXPECT_THAT(error_of(model), StartsWith("[captioner] the model's preprocessing does not fit: "));

  model = good;
  model.description["backbone"]["options"]["classes"] = 12;
  EXPECT_THAT(error_of(model), HasSubstr("fc.weight: expected [12, 512], file has [10, 512]"));

  model = good;
  model.description["labels"] = {"ant", "bee"};
  EXPECT_EQ(error_of(model),
            "[captioner] expected a label for each of the backbone's 10 classes; got 2 labels");
}

TEST(Captioner, loading_names_the_file_and_the_part) {
  const test::TemporaryFolder folder;
  Parts parts = make_parts();
  ModelFile model = make_model(parts);
  model.weights.erase("decoder.output.bias");
  const std::filesystem::path path = folder.path() / "model.safetensors";
  write_model_file(path, model);
  try {
    Captioner::load(path);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const FileError& error) {
    EXPECT_EQ(error.path(), path.string());
    EXPECT_THAT(error.what(), HasSubstr("the model's decoder does not fit"));
    EXPECT_THAT(error.what(), HasSubstr("output.bias"));
  }
  EXPECT_THROW(Captioner::load(folder.path() / "none.safetensors"), FileError);
}

TEST(CaptionJson, has_the_agreed_keys) {
  CaptionedImage result;
  result.geometry.width = 40;
  result.geometry.height = 60;
  result.geometry.input_width = 20;
  result.geometry.input_height = 20;
  result.geometry.input_to_image = {2, 0, 0, 0, 3, 0};
  result.rows = 2;
  result.cols = 2;
  Caption caption;
  caption.text = "a dog";
  caption.log_probability = -1.5;
  caption.score = -1.25;
  caption.finished = true;
  caption.tokens = {4, 5, 2};
  caption.words.push_back({"a", -0.5, torch::tensor({{0.25, 0.25}, {0.25, 0.25}}), {}, {}});
  caption.words.push_back(
      {"dog", -0.75, torch::tensor({{0.5, 0.0}, {0.375, 0.125}}), {}, {{"beagle", 0.75}, {"cat", 0.125}}});
  result.captions.push_back(caption);
  const nlohmann::json expected = nlohmann::json::parse(R"({
    "image": "dir/dog.jpg", "width": 40, "height": 60,
    "captions": [{"text": "a dog", "log_probability": -1.5, "score": -1.25, "finished": true, "tokens": [4, 5, 2],
      "words": [
        {"text": "a", "log_probability": -0.5,
         "map": {"rows": 2, "cols": 2, "values": [0.25, 0.25, 0.25, 0.25], "to_image": [20.0, 0.0, 0.0, 0.0, 30.0, 0.0]}},
        {"text": "dog", "log_probability": -0.75,
         "map": {"rows": 2, "cols": 2, "values": [0.5, 0.0, 0.375, 0.125], "to_image": [20.0, 0.0, 0.0, 0.0, 30.0, 0.0]},
         "evidence": [{"label": "beagle", "weight": 0.75}, {"label": "cat", "weight": 0.125}]}]}]})");
  EXPECT_EQ(to_json("dir/dog.jpg", result), expected);
}

TEST(CaptionJson, values_still_sum_to_one) {
  Parts parts = make_parts();
  Captioner captioner(make_model(parts));
  const CaptionedImage result = captioner.caption({picture(1, 50, 40)}, SearchOptions())[0];
  const nlohmann::json json = to_json("x.png", result);
  ASSERT_FALSE(json["captions"][0]["words"].empty());
  for (const auto& word : json["captions"][0]["words"]) {
    double sum = 0;
    for (const double value : word["map"]["values"]) sum += value;
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_EQ(word["map"]["values"].size(), 6U);
  }
}

}  // namespace
}  // namespace gaze::models
