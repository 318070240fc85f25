#include "models/decoder/caption_decoder.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "modules/attention/positions.h"
#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

CaptionDecoderOptions small() {
  CaptionDecoderOptions options;
  options.vocabulary = 11;
  options.visual_width = 9;
  options.width = 16;
  options.heads = 4;
  options.layers = 2;
  options.feed_forward = 24;
  options.max_tokens = 8;
  return options;
}

CaptionDecoder make(const CaptionDecoderOptions& options, uint64_t seed) {
  torch::manual_seed(seed);
  CaptionDecoder decoder(options);
  // The initial vectors are all 0 or 1: random ones, so that each of them matters.
  torch::NoGradGuard no_grad;
  for (auto& parameter : decoder->parameters()) {
    if (parameter.dim() == 1) parameter.add_(0.3 * torch::randn_like(parameter));
  }
  decoder->eval();
  return decoder;
}

double distance(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(CaptionDecoderOptions, survive_json) {
  CaptionDecoderOptions options = small();
  options.groups = {0, 1, 1, 2, 0, 3, 3, 3, 2};
  options.dropout = 0;
  options.tie = true;
  const nlohmann::json json = to_json(options);
  EXPECT_EQ(to_json(caption_decoder_options_from_json(json)), json);
  EXPECT_EQ(caption_decoder_options_from_json({{"vocabulary", 9}}).width, CaptionDecoderOptions().width);
}

TEST(CaptionDecoderOptions, errors_name_the_option) {
  const auto read = [](const char* text) {
    return caption_decoder_options_from_json(nlohmann::json::parse(text));
  };
  EXPECT_THROWS_WITH(read("[]"), ArgumentError, "[caption_decoder] expected an object of options; got array");
  EXPECT_THROWS_WITH(read("{}"), ArgumentError, "[caption_decoder] expected the option vocabulary; got none");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "head": 2})"), ArgumentError,
                     "[caption_decoder] unknown option \"head\"; did you mean \"heads\"? known: "
                     "class_evidence, copy, dropout, "
                     "extra, feed_forward, group_words, groups, heads, layers, max_tokens, tie, "
                     "visual_width, vocabulary, width");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9.5})"), ArgumentError,
                     "[caption_decoder] expected vocabulary a whole number; got 9.5");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "tie": 1})"), ArgumentError,
                     "[caption_decoder] expected tie true or false; got 1");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "groups": 3})"), ArgumentError,
                     "[caption_decoder] expected groups a list of whole numbers; got 3");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "groups": [0.5]})"), ArgumentError,
                     "[caption_decoder] expected groups a list of whole numbers; got something else in it");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "dropout": "0"})"), ArgumentError,
                     "[caption_decoder] expected dropout a number; got \"0\"");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 3})"), ArgumentError,
                     "[caption_decoder] expected vocabulary >= 4; got vocabulary 3");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "layers": 0})"), ArgumentError,
                     "[caption_decoder] expected layers >= 1; got layers 0");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "width": 36, "heads": 8})"), ArgumentError,
                     "[caption_decoder] expected width a multiple of 4 and of heads; got width 36, heads 8");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "dropout": 1})"), ArgumentError,
                     "[caption_decoder] expected dropout in [0, 1); got dropout 1");
}

// LayerNorm(P softmax(visual)) + positions, cell by cell in float64.
TEST(CaptionDecoder, embeds_evidence_as_stated) {
  for (const bool evidence : {true, false}) {
    CaptionDecoderOptions options = small();
    options.class_evidence = evidence;
    CaptionDecoder decoder = make(options, 3);
    const torch::Tensor visual = 3 * torch::randn({2, 9, 3, 2});
    const torch::Tensor tokens = decoder->embed_picture(visual);
    ASSERT_EQ(tokens.sizes(), (std::vector<int64_t>{2, 6, 16}));
    const auto parameters = decoder->named_parameters();
    const torch::Tensor P = parameters["visual.weight"].to(torch::kDouble);
    const torch::Tensor scale = parameters["visual_norm.weight"].to(torch::kDouble);
    const torch::Tensor shift = parameters["visual_norm.bias"].to(torch::kDouble);
    const torch::Tensor places = grid_positions(3, 2, 16).to(torch::kDouble);
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t s = 0; s < 6; ++s) {
        std::vector<double> cell(9), projected(16, 0.0);
        double sum = 0, mean = 0, variance = 0;
        for (int64_t k = 0; k < 9; ++k) {
          const double logit = visual[b][k][s / 2][s % 2].item<double>();
          cell[k] = evidence ? std::exp(logit) : logit;
          sum += evidence ? cell[k] : 0;
        }
        for (int64_t d = 0; d < 16; ++d) {
          for (int64_t k = 0; k < 9; ++k)
            projected[d] += P[d][k].item<double>() * cell[k] / (evidence ? sum : 1);
          mean += projected[d] / 16;
        }
        for (int64_t d = 0; d < 16; ++d) variance += (projected[d] - mean) * (projected[d] - mean) / 16;
        for (int64_t d = 0; d < 16; ++d) {
          const double expected =
              (projected[d] - mean) / std::sqrt(variance + 1e-5) * scale[d].item<double>() +
              shift[d].item<double>() + places[s][d].item<double>();
          EXPECT_NEAR(tokens[b][s][d].item<double>(), expected, 2e-5);
        }
      }
    }
  }
}

TEST(CaptionDecoder, a_group_s_evidence_is_the_sum_of_its_classes) {
  CaptionDecoderOptions options = small();
  options.groups = {0, 1, 1, 2, 0, 3, 3, 3, 2};
  CaptionDecoder decoder = make(options, 21);
  EXPECT_EQ(decoder->cell_width(), 4);
  const torch::Tensor visual = 3 * torch::randn({2, 9, 2, 2});
  const torch::Tensor cells = decoder->group_probabilities(visual.flatten(2).transpose(1, 2));
  ASSERT_EQ(cells.sizes(), (std::vector<int64_t>{2, 4, 4}));
  const torch::Tensor p = visual.softmax(1);
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t s = 0; s < 4; ++s) {
      std::vector<double> expected(4, 0.0);
      for (int64_t k = 0; k < 9; ++k) expected[options.groups[k]] += p[b][k][s / 2][s % 2].item<double>();
      for (int64_t g = 0; g < 4; ++g) EXPECT_NEAR(cells[b][s][g].item<double>(), expected[g], 1e-6);
    }
  }
  EXPECT_LT(distance(decoder->embed_picture(visual), decoder->embed_cells(cells, 2, 2)), 1e-6);
  EXPECT_THROWS_WITH(decoder->embed_cells(cells, 3, 2), ArgumentError,
                     "[caption_decoder] expected cells [B, S=6, G=4]; got cells [2, 4, 4]");
}

// The extra classes' logits are U (logits - their mean) + c, beside the network's before the softmax.
TEST(CaptionDecoder, extra_classes_join_the_softmax) {
  CaptionDecoderOptions options = small();
  options.extra = 2;
  options.groups = {0, 1, 1, 2, 0, 3, 3, 3, 2, 4, 0};
  CaptionDecoder decoder = make(options, 23);
  torch::NoGradGuard no_grad;
  torch::Tensor U = decoder->named_parameters()["extra.weight"],
                c = decoder->named_parameters()["extra.bias"];
  U.copy_(torch::randn_like(U));
  const torch::Tensor logits = 2 * torch::randn({1, 3, 9});
  const torch::Tensor cells = decoder->group_probabilities(logits);
  ASSERT_EQ(cells.sizes(), (std::vector<int64_t>{1, 3, 5}));
  for (int64_t s = 0; s < 3; ++s) {
    std::vector<double> z(11, 0.0), expected(5, 0.0);
    double mean = 0, sum = 0;
    for (int64_t k = 0; k < 9; ++k) {
      z[k] = logits[0][s][k].item<double>();
      mean += z[k] / 9;
    }
    for (int64_t e = 0; e < 2; ++e) {
      z[9 + e] = c[e].item<double>();
      for (int64_t k = 0; k < 9; ++k) z[9 + e] += U[e][k].item<double>() * (z[k] - mean);
    }
    for (const double value : z) sum += std::exp(value);
    for (int64_t k = 0; k < 11; ++k) expected[options.groups[k]] += std::exp(z[k]) / sum;
    for (int64_t g = 0; g < 5; ++g) EXPECT_NEAR(cells[0][s][g].item<double>(), expected[g], 1e-5);
  }
}

TEST(CaptionDecoder, cells_of_named_groups_are_their_words) {
  CaptionDecoderOptions options = small();
  options.groups = {0, 1, 1, 2, 0, 2, 2, 2, 2};
  options.group_words = {7, -1, 9};
  CaptionDecoder decoder = make(options, 27);
  torch::NoGradGuard no_grad;
  auto parameters = decoder->named_parameters();
  EXPECT_FALSE(parameters.contains("visual.weight"));
  parameters["visual_norm.weight"].fill_(1);
  parameters["visual_norm.bias"].zero_();
  const torch::Tensor cells = torch::tensor({{{0.5, 0.2, 0.3}}}, torch::kFloat);
  const torch::Tensor token = 0.5 * parameters["embedding.weight"][7] + 0.2 * parameters["nameless"][0] +
                              0.3 * parameters["embedding.weight"][9];
  const torch::Tensor expected =
      (token - token.mean()) / (token.var(false) + 1e-5).sqrt() + grid_positions(1, 1, 16)[0];
  EXPECT_LT(distance(decoder->embed_cells(cells, 1, 1)[0][0], expected), 1e-5);
}

TEST(CaptionDecoder, groups_must_fit_the_classes) {
  const char* each =
      "[caption_decoder] expected a group for each class of the evidence and each extra one; got ";
  CaptionDecoderOptions options = small();
  options.groups = {0, 1};
  EXPECT_THROWS_WITH(CaptionDecoder{options}, ArgumentError, each + std::string("2 groups"));
  options.groups = {};
  options.extra = 1;
  EXPECT_THROWS_WITH(CaptionDecoder{options}, ArgumentError, each + std::string("0 groups"));
  options.extra = 0;
  options.groups = {0, 1, 2, 3, 4, 5, 6, 7, 9};
  EXPECT_THROWS_WITH(CaptionDecoder{options}, ArgumentError,
                     "[caption_decoder] expected groups in 0..8; got group 9");
  options.groups = {0, 1, 1, 1, 1, 1, 1, 1, 1};
  options.group_words = {4};
  EXPECT_THROWS_WITH(CaptionDecoder{options}, ArgumentError,
                     "[caption_decoder] expected a word, or -1, for each group; got 1 words");
  options.group_words = {4, 11};
  EXPECT_THROWS_WITH(CaptionDecoder{options}, ArgumentError,
                     "[caption_decoder] expected group_words in -1 .. vocabulary - 1; got 11");
}

TEST(CaptionDecoder, a_copying_start_passes_values_on) {
  CaptionDecoderOptions options = small();
  options.copy = true;
  CaptionDecoder decoder(options);
  for (const char* name : {"layers.0.cross.value.weight", "layers.1.cross.out.weight"}) {
    EXPECT_TRUE(decoder->named_parameters()[name].equal(torch::eye(16))) << name;
  }
}

TEST(CaptionDecoder, evidence_projection_starts_with_deviation_one_half) {
  torch::manual_seed(1);
  CaptionDecoderOptions options = small();
  options.visual_width = 1000;
  CaptionDecoder decoder(options);
  EXPECT_NEAR(decoder->named_parameters()["visual.weight"].std().item<double>(), 0.5, 0.02);
  EXPECT_FALSE(decoder->named_parameters().contains("visual.bias"));
}

// Another implementation with the same weights: LibTorch's own decoder layer.
TEST(CaptionDecoder, agrees_with_libtorch_s_transformer_decoder) {
  const CaptionDecoderOptions options = small();
  CaptionDecoder decoder = make(options, 5);
  const auto own = decoder->named_parameters();
  const torch::Tensor tokens = torch::randint(0, 11, {3, 7}, torch::kLong);
  const torch::Tensor memory = torch::randn({3, 6, 16});
  torch::NoGradGuard no_grad;

  torch::Tensor x = own["embedding.weight"].index_select(0, tokens.flatten()).view({3, 7, 16}) * 4 +
                    sinusoidal_positions(0, 7, 16);
  x = x.transpose(0, 1);  // [T, B, D]
  const torch::Tensor future = torch::full({7, 7}, -INFINITY).triu(1);
  for (int64_t i = 0; i < 2; ++i) {
    torch::nn::TransformerDecoderLayer layer(
        torch::nn::TransformerDecoderLayerOptions(16, 4).dim_feedforward(24).dropout(0).activation(
            torch::kGELU));
    layer->eval();
    auto theirs = layer->named_parameters();
    const std::string prefix = "layers." + std::to_string(i) + ".";
    const auto copy = [&](const std::string& to, const std::string& from) {
      theirs[to].copy_(own[prefix + from]);
    };
    for (const std::string kind : {"weight", "bias"}) {
      for (const auto& [attention, mine] :
           {std::pair<std::string, std::string>{"self_attn", "self"}, {"multihead_attn", "cross"}}) {
        theirs[attention + ".in_proj_" + kind].copy_(
            torch::cat({own[prefix + mine + ".query." + kind], own[prefix + mine + ".key." + kind],
                        own[prefix + mine + ".value." + kind]}));
        copy(attention + ".out_proj." + kind, mine + ".out." + kind);
      }
      copy("linear1." + kind, "expand." + kind);
      copy("linear2." + kind, "shrink." + kind);
      copy("norm1." + kind, "self_norm." + kind);
      copy("norm2." + kind, "cross_norm." + kind);
      copy("norm3." + kind, "feed_norm." + kind);
    }
    x = layer(x, memory.transpose(0, 1), future);
  }
  const torch::Tensor expected = torch::linear(x.transpose(0, 1), own["output.weight"], own["output.bias"]);
  const torch::Tensor logits = decoder->forward(tokens, memory);
  ASSERT_EQ(logits.sizes(), (std::vector<int64_t>{3, 7, 11}));
  EXPECT_LT(distance(logits, expected), 1e-5 * expected.abs().max().item<double>());
}

TEST(CaptionDecoder, sees_no_later_word) {
  CaptionDecoder decoder = make(small(), 7);
  const torch::Tensor memory = torch::randn({1, 4, 16});
  torch::Tensor tokens = torch::tensor({{1, 4, 5, 6, 7}});
  const torch::Tensor before = decoder->forward(tokens, memory);
  tokens[0][3] = 9;
  const torch::Tensor after = decoder->forward(tokens, memory);
  EXPECT_LT(distance(before.narrow(1, 0, 3), after.narrow(1, 0, 3)), 1e-6);
  EXPECT_GT(distance(before.narrow(1, 3, 1), after.narrow(1, 3, 1)), 1e-2);
}

TEST(CaptionDecoder, steps_give_what_forward_gives) {
  for (const bool tie : {false, true}) {
    CaptionDecoderOptions options = small();
    options.tie = tie;
    CaptionDecoder decoder = make(options, 11);
    const torch::Tensor memory = torch::randn({2, 6, 16});
    // Three hypotheses a picture: rows 0-2 look at picture 0, rows 3-5 at picture 1.
    const torch::Tensor tokens = torch::randint(0, 11, {6, 8}, torch::kLong);
    const torch::Tensor expected =
        decoder->forward(tokens, memory.repeat_interleave(3, 0)).log_softmax(2);  // [6, T, V]
    DecoderState state = decoder->begin(memory, 3);
    for (int64_t t = 0; t < 8; ++t) {
      const DecoderStep step = decoder->step(state, tokens.select(1, t));
      EXPECT_LT(distance(step.log_probabilities, expected.select(1, t)), 1e-5);
      ASSERT_EQ(step.map.sizes(), (std::vector<int64_t>{6, 4, 6}));
      EXPECT_LT(distance(step.map.sum(2), torch::ones({6, 4})), 1e-5);
    }
    EXPECT_EQ(state.length, 8);
  }
}

TEST(CaptionDecoder, reorder_moves_words_and_pictures) {
  CaptionDecoder decoder = make(small(), 13);
  const torch::Tensor memory = torch::randn({3, 5, 16});
  const torch::Tensor first = torch::randint(4, 11, {6}, torch::kLong),
                      second = torch::randint(4, 11, {4}, torch::kLong);
  DecoderState state = decoder->begin(memory, 2);
  decoder->step(state, first);
  // Picture 1 leaves; 2 comes first, its second hypothesis twice.
  const std::vector<int64_t> rows = {5, 5, 1, 0};
  state.reorder(torch::tensor(rows));
  const DecoderStep step = decoder->step(state, second);
  const std::vector<int64_t> pictures = {2, 2, 0, 0};
  for (int64_t i = 0; i < 4; ++i) {
    const torch::Tensor tokens = torch::stack({first[rows[i]], second[i]}).unsqueeze(0);  // [1, 2]
    const torch::Tensor expected =
        decoder->forward(tokens, memory.narrow(0, pictures[i], 1))[0][1].log_softmax(0);
    EXPECT_LT(distance(step.log_probabilities[i], expected), 1e-5);
  }
  EXPECT_THROWS_WITH(state.reorder(torch::tensor({0, 2, 1, 1})), ArgumentError,
                     "[search] expected each 2 rows from one input; got rows of several");
}

TEST(CaptionDecoder, reorder_within_pictures_leaves_their_memory_alone) {
  CaptionDecoder decoder = make(small(), 13);
  DecoderState state = decoder->begin(torch::randn({2, 5, 16}), 2);
  decoder->step(state, torch::tensor({4, 5, 6, 7}));
  const void* memory = state.layers[0].memory.keys.data_ptr();
  state.reorder(torch::tensor({1, 0, 2, 2}));
  EXPECT_EQ(state.layers[0].memory.keys.data_ptr(), memory);
}

TEST(CaptionDecoder, any_grid_and_one_cell) {
  CaptionDecoder decoder = make(small(), 17);
  for (const auto& [h, w] : {std::pair<int64_t, int64_t>{1, 1}, {1, 7}, {10, 3}}) {
    const torch::Tensor memory = decoder->embed_picture(torch::randn({1, 9, h, w}));
    EXPECT_EQ(memory.size(1), h * w);
    EXPECT_TRUE(decoder->forward(torch::tensor({{1}}), memory).isfinite().all().item<bool>());
  }
}

TEST(CaptionDecoder, every_parameter_learns) {
  for (const bool tie : {false, true}) {
    CaptionDecoderOptions options = small();
    options.tie = tie;
    torch::manual_seed(19);
    CaptionDecoder decoder(options);
    decoder->train();
    torch::optim::AdamW optimizer(decoder->parameters(), 1e-2);
    const torch::Tensor visual = 4 * torch::randn({4, 9, 3, 3});
    const torch::Tensor tokens = torch::randint(4, 11, {4, 7}, torch::kLong);
    double first = 0, last = 0;
    for (int step = 0; step < 60; ++step) {
      optimizer.zero_grad();
      const torch::Tensor logits = decoder->forward(tokens.narrow(1, 0, 6), decoder->embed_picture(visual));
      const torch::Tensor loss =
          torch::cross_entropy_loss(logits.flatten(0, 1), tokens.narrow(1, 1, 6).flatten());
      loss.backward();
      if (step == 0) {
        for (const auto& parameter : decoder->named_parameters()) {
          ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
          // A bias added to every key changes no softmax.
          const bool no_effect = parameter.key().find("key.bias") != std::string::npos;
          if (!no_effect)
            EXPECT_GT(parameter.value().grad().abs().max().item<double>(), 1e-7) << parameter.key();
        }
        first = loss.item<double>();
      }
      last = loss.item<double>();
      optimizer.step();
    }
    EXPECT_LT(last, 0.5 * first);
  }
}

TEST(CaptionDecoder, errors_state_shapes) {
  CaptionDecoder decoder = make(small(), 1);
  const torch::Tensor memory = torch::zeros({2, 5, 16});
  EXPECT_THROWS_WITH(decoder->embed_picture(torch::zeros({2, 8, 3, 3})), ArgumentError,
                     "[caption_decoder] expected visual [B, K=9, H, W]; got visual [2, 8, 3, 3]");
  EXPECT_THROWS_WITH(decoder->forward(torch::ones({3, 4}, torch::kLong), memory), ArgumentError,
                     "[caption_decoder] expected tokens [B=2, T]; got tokens [3, 4]");
  EXPECT_THROWS_WITH(decoder->forward(torch::ones({2, 4}, torch::kLong), torch::zeros({2, 5, 8})),
                     ArgumentError, "[caption_decoder] expected memory [B, S, D=16]; got memory [2, 5, 8]");
  EXPECT_THROWS_WITH(decoder->forward(torch::ones({2, 9}, torch::kLong), memory), ArgumentError,
                     "[caption_decoder] expected T <= max_tokens 8; got T 9");
  EXPECT_THROWS_WITH(decoder->begin(memory, 0), ArgumentError,
                     "[caption_decoder] expected beam >= 1; got beam 0");
  DecoderState state = decoder->begin(memory, 1);
  EXPECT_THROWS_WITH(decoder->step(state, torch::ones({3}, torch::kLong)), ArgumentError,
                     "[caption_decoder] expected tokens [R=2]; got tokens [3]");
  for (int t = 0; t < 8; ++t) decoder->step(state, torch::ones({2}, torch::kLong));
  EXPECT_THROWS_WITH(decoder->step(state, torch::ones({2}, torch::kLong)), ArgumentError,
                     "[caption_decoder] expected at most max_tokens 8 steps; got one more");
}

}  // namespace
}  // namespace gaze::models
