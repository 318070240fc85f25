#include "models/decoder/transformer_decoder.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/decoder/search.h"
#include "modules/core/error.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

TransformerDecoderOptions small() {
  TransformerDecoderOptions options;
  options.vocabulary = 11;
  options.visual_width = 9;
  options.width = 16;
  options.heads = 4;
  options.decoder_layers = 2;
  options.feed_forward = 24;
  options.head_width = 12;
  options.max_tokens = 40;
  return options;
}

TransformerDecoder make(const TransformerDecoderOptions& options, uint64_t seed) {
  torch::manual_seed(seed);
  TransformerDecoder decoder(options);
  // The initial vectors are all 0 or 1: random ones, so that each of them matters.
  const torch::NoGradGuard no_grad;
  for (auto& parameter : decoder->parameters()) {
    if (parameter.dim() == 1) parameter.add_(0.3 * torch::randn_like(parameter));
  }
  decoder->eval();
  return decoder;
}

// Each choice of the options at least once beside the others.
std::vector<TransformerDecoderOptions> settings() {
  std::vector<TransformerDecoderOptions> all;
  for (const bool norm_first : {false, true}) {
    for (const bool layer_positions : {false, true}) {
      for (const WordPositions positions : {WordPositions::sinusoidal, WordPositions::learned}) {
        for (const WordHead head : {WordHead::linear, WordHead::tied, WordHead::mlp}) {
          TransformerDecoderOptions options = small();
          options.norm_first = options.final_norm = norm_first;
          options.layer_positions = layer_positions;
          options.positions = positions;
          options.head = head;
          options.scale_embedding = head == WordHead::linear;
          options.embedding_norm = layer_positions;
          options.visual_norm = !layer_positions;
          options.class_evidence = head == WordHead::tied;
          options.encoder_layers = norm_first ? 2 : 0;
          options.activation = head == WordHead::mlp ? Activation::relu : Activation::gelu;
          all.push_back(options);
        }
      }
    }
  }
  return all;
}

std::string text_of(const TransformerDecoderOptions& options) {
  return to_json(options).dump();
}

TEST(TransformerDecoderOptions, survive_json) {
  for (const TransformerDecoderOptions& options : settings()) {
    const nlohmann::json json = to_json(options);
    EXPECT_EQ(to_json(transformer_decoder_options_from_json(json)), json);
    nlohmann::json described = make(options, 1)->describe();
    EXPECT_EQ(described["kind"], "transformer");
    EXPECT_EQ(word_decoder_from_json(described)->describe(), described);
  }
}

TEST(TransformerDecoderOptions, errors_name_the_option) {
  const auto read = [](const char* text) {
    return transformer_decoder_options_from_json(nlohmann::json::parse(text));
  };
  EXPECT_THROWS_WITH(read("[]"), ArgumentError,
                     "[transformer_decoder] expected an object of options; got array");
  EXPECT_THROWS_WITH(read("{}"), ArgumentError,
                     "[transformer_decoder] expected the option vocabulary; got none");
  EXPECT_THROWS_WITH(
      read(R"({"vocabulary": 9, "norm_frist": true})"), ArgumentError,
      "[transformer_decoder] unknown option \"norm_frist\"; did you mean \"norm_first\"? known: "
      "activation, class_evidence, decoder_layers, dropout, embedding_norm, "
      "embedding_norm_eps, encoder_layers, feed_forward, final_norm, head, head_width, heads, "
      "layer_positions, max_tokens, norm_first, positions, scale_embedding, visual_norm, "
      "visual_width, vocabulary, width");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "norm_first": 1})"), ArgumentError,
                     "[transformer_decoder] expected norm_first true or false; got 1");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "head": 2})"), ArgumentError,
                     "[transformer_decoder] expected head a text; got 2");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "head": "lineal"})"), ArgumentError,
                     "[transformer_decoder] unknown head \"lineal\"; did you mean \"linear\"? known: linear, "
                     "tied, mlp");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "positions": "relative"})"), ArgumentError,
                     "[transformer_decoder] unknown positions \"relative\"; known: sinusoidal, learned");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "activation": "tanh"})"), ArgumentError,
                     "[transformer_decoder] unknown activation \"tanh\"; known: relu, gelu");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 0})"), ArgumentError,
                     "[transformer_decoder] expected vocabulary >= 1; got vocabulary 0");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "decoder_layers": 0})"), ArgumentError,
                     "[transformer_decoder] expected decoder_layers >= 1; got decoder_layers 0");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "encoder_layers": -1})"), ArgumentError,
                     "[transformer_decoder] expected encoder_layers >= 0; got encoder_layers -1");
  EXPECT_THROWS_WITH(
      read(R"({"vocabulary": 9, "width": 36, "heads": 8})"), ArgumentError,
      "[transformer_decoder] expected width a multiple of 4 and of heads; got width 36, heads 8");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "embedding_norm_eps": 0})"), ArgumentError,
                     "[transformer_decoder] expected embedding_norm_eps above 0; got embedding_norm_eps 0");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "dropout": 1})"), ArgumentError,
                     "[transformer_decoder] expected dropout in [0, 1); got dropout 1");
}

// Another implementation with the same weights: LibTorch's nn.TransformerDecoder, with words as Vaswani et
// al. embed them.
TEST(TransformerDecoder, agrees_with_libtorch_s_transformer_decoder) {
  TransformerDecoderOptions options = small();
  options.scale_embedding = true;
  options.final_norm = true;
  TransformerDecoder decoder = make(options, 5);
  const auto own = decoder->named_parameters();
  const torch::Tensor tokens = torch::randint(0, 11, {3, 7}, torch::kLong);
  const torch::Tensor memory = torch::randn({3, 6, 16});
  const torch::NoGradGuard no_grad;
  torch::nn::TransformerDecoder theirs(
      torch::nn::TransformerDecoderOptions(
          torch::nn::TransformerDecoderLayerOptions(16, 4).dim_feedforward(24).dropout(0), 2)
          .norm(torch::nn::AnyModule(torch::nn::LayerNorm(torch::nn::LayerNormOptions({16})))));
  theirs->eval();
  auto parameters = theirs->named_parameters();
  for (const std::string kind : {"weight", "bias"}) {
    parameters["norm." + kind].copy_(own["norm." + kind]);
    for (const std::string layer : {"layers.0.", "layers.1."}) {
      for (const auto& [attention, mine] :
           {std::pair<std::string, std::string>{"self_attn", "self"}, {"multihead_attn", "cross"}}) {
        parameters[layer + attention + ".in_proj_" + kind].copy_(
            torch::cat({own[layer + mine + ".query." + kind], own[layer + mine + ".key." + kind],
                        own[layer + mine + ".value." + kind]}));
        parameters[layer + attention + ".out_proj." + kind].copy_(own[layer + mine + ".out." + kind]);
      }
      for (const auto& [to, from] : {std::pair<std::string, std::string>{"linear1.", "expand."},
                                     {"linear2.", "shrink."},
                                     {"norm1.", "self_norm."},
                                     {"norm2.", "cross_norm."},
                                     {"norm3.", "feed_norm."}})
        parameters[layer + to + kind].copy_(own[layer + from + kind]);
    }
  }
  torch::Tensor x = own["embedding.weight"].index_select(0, tokens.flatten()).view({3, 7, 16}) * 4;
  for (int64_t t = 0; t < 7; ++t) {
    for (int64_t i = 0; i < 8; ++i) {
      const double angle = static_cast<double>(t) / std::pow(10000.0, static_cast<double>(i) / 8);
      x.select(1, t).select(1, 2 * i) += std::sin(angle);
      x.select(1, t).select(1, 2 * i + 1) += std::cos(angle);
    }
  }
  const torch::Tensor future = torch::full({7, 7}, -INFINITY).triu(1);
  const torch::Tensor last =
      theirs->forward(x.transpose(0, 1), memory.transpose(0, 1), future).transpose(0, 1);
  const torch::Tensor expected = torch::linear(last, own["output.weight"], own["output.bias"]);
  test::expect_near(decoder->forward(tokens, memory), expected, 1e-5, "logits");
}

TEST(TransformerDecoder, steps_give_what_forward_gives) {
  for (const TransformerDecoderOptions& options : settings()) {
    TransformerDecoder decoder = make(options, 11);
    const torch::NoGradGuard no_grad;
    const PictureTokens picture = decoder->look_at(torch::randn({2, 9, 3, 2}));
    EXPECT_EQ(picture.rows, 3);
    EXPECT_EQ(picture.cols, 2);
    // Three hypotheses a picture: rows 0-2 look at picture 0, rows 3-5 at picture 1.
    const torch::Tensor tokens = torch::randint(0, 11, {6, 40}, torch::kLong);
    const torch::Tensor expected =
        decoder->forward(tokens, picture.memory.repeat_interleave(3, 0)).log_softmax(2);  // [6, T, V]
    const std::unique_ptr<StepDecoder> steps = decoder->start(picture.memory, 3);
    EXPECT_EQ(steps->inputs(), 2);
    for (int64_t t = 0; t < 40; ++t) {
      const DecoderStep step = steps->step(tokens.select(1, t));
      ASSERT_LT(test::relative_error(step.log_probabilities, expected.select(1, t)), 1e-5)
          << "word " << t << ", " << text_of(options);
      ASSERT_EQ(step.map.sizes(), (std::vector<int64_t>{6, 4, 6}));
      ASSERT_LT(test::relative_error(step.map.sum(2), torch::ones({6, 4})), 1e-5);
    }
  }
}

TEST(TransformerDecoder, sees_no_later_word) {
  for (const TransformerDecoderOptions& options : settings()) {
    TransformerDecoder decoder = make(options, 7);
    const torch::NoGradGuard no_grad;
    const torch::Tensor memory = decoder->look_at(torch::randn({1, 9, 2, 2})).memory;
    torch::Tensor tokens = torch::tensor({{1, 4, 5, 6, 7}});
    const torch::Tensor before = decoder->forward(tokens, memory);
    tokens[0][3] = 9;
    const torch::Tensor after = decoder->forward(tokens, memory);
    EXPECT_LT((before - after).narrow(1, 0, 3).abs().max().item<double>(), 1e-6) << text_of(options);
    EXPECT_GT((before - after).narrow(1, 3, 1).abs().max().item<double>(), 1e-3) << text_of(options);
  }
}

TEST(TransformerDecoder, words_know_their_places_and_cells_theirs) {
  for (const TransformerDecoderOptions& options : settings()) {
    TransformerDecoder decoder = make(options, 9);
    const torch::NoGradGuard no_grad;
    const torch::Tensor visual = torch::randn({1, 9, 2, 3});
    const torch::Tensor tokens = torch::tensor({{1, 4, 5, 6}}), swapped = torch::tensor({{1, 5, 4, 6}});
    const auto last = [&](const torch::Tensor& words, const torch::Tensor& cells) {
      return decoder->forward(words, decoder->look_at(cells).memory).select(1, 3);
    };
    EXPECT_GT((last(tokens, visual) - last(swapped, visual)).abs().max().item<double>(), 1e-3)
        << text_of(options);
    EXPECT_GT((last(tokens, visual) - last(tokens, visual.flip(3))).abs().max().item<double>(), 1e-4)
        << text_of(options);
  }
}

TEST(TransformerDecoder, reorder_moves_words_and_pictures) {
  for (const TransformerDecoderOptions& options : settings()) {
    TransformerDecoder decoder = make(options, 13);
    const torch::NoGradGuard no_grad;
    const torch::Tensor memory = decoder->look_at(torch::randn({3, 9, 1, 5})).memory;
    const torch::Tensor first = torch::randint(4, 11, {6}, torch::kLong),
                        second = torch::randint(4, 11, {6}, torch::kLong),
                        third = torch::randint(4, 11, {4}, torch::kLong);
    const std::unique_ptr<StepDecoder> steps = decoder->start(memory, 2);
    steps->step(first);
    const std::vector<int64_t> within = {1, 1, 2, 3, 5, 4};
    steps->reorder(torch::tensor(within));
    steps->step(second);
    // Picture 1 leaves; 2 comes first, its second hypothesis twice.
    const std::vector<int64_t> rows = {5, 5, 1, 0};
    steps->reorder(torch::tensor(rows));
    EXPECT_EQ(steps->inputs(), 2);
    const DecoderStep step = steps->step(third);
    const std::vector<int64_t> pictures = {2, 2, 0, 0};
    for (int64_t i = 0; i < 4; ++i) {
      const torch::Tensor tokens =
          torch::stack({first[within[rows[i]]], second[rows[i]], third[i]}).unsqueeze(0);  // [1, 3]
      const torch::Tensor expected =
          decoder->forward(tokens, memory.narrow(0, pictures[i], 1))[0][2].log_softmax(0);
      test::expect_near(step.log_probabilities[i], expected, 1e-5, text_of(options));
    }
    EXPECT_THROWS_WITH(steps->reorder(torch::tensor({0, 2, 1, 1})), ArgumentError,
                       "[search] expected each 2 rows from one input; got rows of several");
  }
}

// Greedy with the cache, and recomputing every word from the start token on.
TEST(TransformerDecoder, cached_words_are_those_of_recomputing) {
  for (const TransformerDecoderOptions& options : settings()) {
    TransformerDecoder decoder = make(options, 17);
    const torch::NoGradGuard no_grad;
    const torch::Tensor memory = decoder->look_at(2 * torch::randn({2, 9, 3, 3})).memory;
    SearchOptions how;
    how.beam = 1;
    how.max_words = 30;
    how.constraints.min_words = 30;
    const std::vector<std::vector<Hypothesis>> found = search(*decoder, memory, how);
    for (int64_t b = 0; b < 2; ++b) {
      std::vector<int64_t> words = {how.specials.start};
      while (words.size() <= 30) {
        torch::Tensor logits = decoder->forward(torch::tensor(words).unsqueeze(0), memory.narrow(0, b, 1))[0]
                                   .select(0, -1)
                                   .clone();
        for (const int64_t special :
             {how.specials.pad, how.specials.start, how.specials.unknown, how.specials.end})
          logits[special] = -INFINITY;
        words.push_back(logits.argmax().item<int64_t>());
      }
      words.erase(words.begin());
      std::vector<int64_t> cached = found[static_cast<size_t>(b)][0].tokens;
      cached.resize(30);
      EXPECT_EQ(cached, words) << text_of(options);
    }
  }
}

TEST(TransformerDecoder, any_grid_and_one_cell) {
  TransformerDecoderOptions options = small();
  options.encoder_layers = 1;
  TransformerDecoder decoder = make(options, 17);
  for (const auto& [h, w] : {std::pair<int64_t, int64_t>{1, 1}, {1, 7}, {10, 3}}) {
    const PictureTokens picture = decoder->look_at(torch::randn({2, 9, h, w}));
    EXPECT_EQ(picture.memory.sizes(), (std::vector<int64_t>{2, h * w, 16}));
    EXPECT_TRUE(decoder->forward(torch::tensor({{1}, {2}}), picture.memory).isfinite().all().item<bool>());
  }
}

TEST(TransformerDecoder, every_parameter_learns) {
  const std::vector<TransformerDecoderOptions> all = settings();
  for (size_t i = 0; i < all.size(); ++i) {
    TransformerDecoderOptions options = all[i];
    options.max_tokens = 6;
    const int steps = i % 5 == 0 ? 60 : 1;
    torch::manual_seed(19);
    TransformerDecoder decoder(options);
    decoder->train();
    torch::optim::AdamW optimizer(decoder->parameters(), 1e-2);
    const torch::Tensor visual = 4 * torch::randn({4, 9, 3, 3});
    const torch::Tensor tokens = torch::randint(4, 11, {4, 7}, torch::kLong);
    double first = 0, last = 0;
    for (int step = 0; step < steps; ++step) {
      optimizer.zero_grad();
      const torch::Tensor logits = decoder->forward(tokens.narrow(1, 0, 6), decoder->look_at(visual).memory);
      const torch::Tensor loss =
          torch::cross_entropy_loss(logits.flatten(0, 1), tokens.narrow(1, 1, 6).flatten());
      loss.backward();
      if (step == 0) {
        for (const auto& parameter : decoder->named_parameters()) {
          ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
          // A bias added to every key changes no softmax.
          if (parameter.key().find("key.bias") != std::string::npos) continue;
          EXPECT_GT(parameter.value().grad().abs().max().item<double>(), 1e-8)
              << parameter.key() << ", " << text_of(options);
        }
        first = loss.item<double>();
      }
      last = loss.item<double>();
      optimizer.step();
    }
    if (steps > 1) EXPECT_LT(last, 0.5 * first) << text_of(options);
  }
}

TEST(TransformerDecoder, errors_state_shapes) {
  TransformerDecoderOptions options = small();
  options.max_tokens = 8;
  TransformerDecoder decoder = make(options, 1);
  const torch::Tensor memory = torch::zeros({2, 5, 16});
  EXPECT_THROWS_WITH(decoder->look_at(torch::zeros({2, 8, 3, 3})), ArgumentError,
                     "[transformer_decoder] expected visual [B, K=9, H, W]; got visual [2, 8, 3, 3]");
  EXPECT_THROWS_WITH(decoder->forward(torch::ones({3, 4}, torch::kLong), memory), ArgumentError,
                     "[transformer_decoder] expected tokens [B=2, T]; got tokens [3, 4]");
  EXPECT_THROWS_WITH(decoder->forward(torch::ones({2, 4}, torch::kLong), torch::zeros({2, 5, 8})),
                     ArgumentError,
                     "[transformer_decoder] expected memory [B, S, D=16]; got memory [2, 5, 8]");
  EXPECT_THROWS_WITH(decoder->forward(torch::ones({2, 9}, torch::kLong), memory), ArgumentError,
                     "[transformer_decoder] expected T <= max_tokens 8; got T 9");
  EXPECT_THROWS_WITH(decoder->start(memory, 0), ArgumentError,
                     "[transformer_decoder] expected beam >= 1; got beam 0");
  const std::unique_ptr<StepDecoder> steps = decoder->start(memory, 1);
  EXPECT_THROWS_WITH(steps->step(torch::ones({3}, torch::kLong)), ArgumentError,
                     "[transformer_decoder] expected tokens [R=2]; got tokens [3]");
  for (int t = 0; t < 8; ++t) steps->step(torch::ones({2}, torch::kLong));
  EXPECT_THROWS_WITH(steps->step(torch::ones({2}, torch::kLong)), ArgumentError,
                     "[transformer_decoder] expected at most max_tokens 8 steps; got one more");
  options.layer_positions = true;
  EXPECT_THROWS_WITH(make(options, 1)->start(memory, 1), ArgumentError,
                     "[transformer_decoder] expected memory [B, S, 2 D=32]; got memory [2, 5, 16]");
}

}  // namespace
}  // namespace gaze::models
