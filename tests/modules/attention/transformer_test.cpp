#include "modules/attention/transformer.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "modules/core/error.h"
#include "tests/support/golden_weights.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

constexpr uint64_t kSeed = 17;
constexpr int64_t B = 2, T = 5, S = 4, D = 12;

nlohmann::json golden() {
  std::ifstream stream(GAZE_SOURCE_DIR "/tests/golden/attention/transformer.json");
  return nlohmann::json::parse(stream);
}

torch::Tensor tensor_of(const nlohmann::json& numbers, at::IntArrayRef shape) {
  return torch::tensor(numbers.get<std::vector<double>>(), torch::kDouble).view(shape);
}

TransformerLayerOptions options_of(const nlohmann::json& entry) {
  TransformerLayerOptions options;
  options.width = D;
  options.heads = 3;
  options.feed_forward = 20;
  options.norm_first = entry["norm_first"];
  options.activation = entry["activation"] == "gelu" ? Activation::gelu : Activation::relu;
  return options;
}

// PyTorch's layers' golden state, by their shapes.
std::map<std::string, torch::Tensor> torchs_state(bool decoder) {
  std::map<std::string, std::vector<int64_t>> shapes{{"linear1.weight", {20, D}},
                                                     {"linear1.bias", {20}},
                                                     {"linear2.weight", {D, 20}},
                                                     {"linear2.bias", {D}}};
  for (const std::string attention : {"self_attn", "multihead_attn"}) {
    if (attention == "multihead_attn" && !decoder) continue;
    shapes[attention + ".in_proj_weight"] = {3 * D, D};
    shapes[attention + ".in_proj_bias"] = {3 * D};
    shapes[attention + ".out_proj.weight"] = {D, D};
    shapes[attention + ".out_proj.bias"] = {D};
  }
  for (int i = 1; i <= (decoder ? 3 : 2); ++i) {
    shapes[fmt::format("norm{}.weight", i)] = {D};
    shapes[fmt::format("norm{}.bias", i)] = {D};
  }
  std::map<std::string, torch::Tensor> state;
  for (const auto& [key, shape] : shapes) state[key] = test::golden_tensor(key, shape, kSeed, {});
  return state;
}

void load(torch::nn::Module& module, const std::map<std::string, torch::Tensor>& state) {
  const torch::NoGradGuard guard;
  auto parameters = module.named_parameters();
  ASSERT_EQ(parameters.size(), state.size());
  for (const auto& [name, value] : state) parameters[name].copy_(value);
}

torch::Tensor padding() {
  const torch::Tensor padded = torch::zeros({B, S}, torch::kBool);
  padded[1][2] = padded[1][3] = true;
  return padded;
}

TEST(Transformer, layers_compute_pytorchs_numbers) {
  const torch::Tensor x = test::golden_noise("x", {B, T, D}, kSeed),
                      memory = test::golden_noise("memory", {B, S, D}, kSeed);
  const nlohmann::json all = golden();
  ASSERT_EQ(all["cases"].size(), 4U);
  for (const nlohmann::json& entry : all["cases"]) {
    const std::string context =
        entry["activation"].get<std::string>() + (entry["norm_first"] ? ", pre-norm" : "");
    TransformerEncoderLayer encoder(options_of(entry));
    load(*encoder, from_torch_transformer_layer(torchs_state(false)));
    encoder->eval();
    test::expect_near(encoder->forward(memory, {{}, padding()}).output,
                      tensor_of(entry["encoder"], {B, S, D}), 1e-5, "encoder, " + context);
    TransformerDecoderLayer decoder(options_of(entry));
    load(*decoder, from_torch_transformer_layer(torchs_state(true)));
    decoder->eval();
    const torch::Tensor expected = tensor_of(entry["decoder"], {B, T, D});
    test::expect_near(decoder->forward(x, memory, {{}, padding()}).output, expected, 1e-5,
                      "decoder, " + context);

    LayerState state = decoder->begin(memory, B);
    for (int64_t t = 0; t < T; ++t) {
      const LayerStep step = decoder->step(x.narrow(1, t, 1), state, /*with_map=*/true, padding());
      test::expect_near(step.x, expected.narrow(1, t, 1), 1e-5, fmt::format("step {}, {}", t, context));
      ASSERT_EQ(step.map.sizes(), (std::vector<int64_t>{B, 3, S}));
      EXPECT_TRUE(step.map[1].narrow(1, 2, 2).eq(0).all().item<bool>());
    }
  }
}

// PyTorch's attention and norms, put together with positions as DETR has them: queries and keys with them,
// values without.
class DetrLayer {
 public:
  explicit DetrLayer(bool norm_first) : norm_first_(norm_first) {}

  torch::Tensor operator()(const torch::Tensor& x, const torch::Tensor& positions,
                           const torch::Tensor& memory, const torch::Tensor& memory_positions,
                           bool causal) const {
    const bool decoder = memory.defined();
    torch::Tensor y = branch(x, "norm1", [&](const torch::Tensor& z) {
      return attend("self_attn", z + positions, z + positions, z, causal);
    });
    if (decoder) {
      y = branch(y, "norm2", [&](const torch::Tensor& z) {
        return attend("multihead_attn", z + positions, memory + memory_positions, memory, false);
      });
    }
    return branch(y, decoder ? "norm3" : "norm2", [&](const torch::Tensor& z) {
      return torch::linear(torch::linear(z, at("linear1.weight"), at("linear1.bias")).relu(),
                           at("linear2.weight"), at("linear2.bias"));
    });
  }

 private:
  torch::Tensor at(const std::string& name) const { return state_.at(name); }

  template <typename Branch>
  torch::Tensor branch(const torch::Tensor& x, const std::string& norm, const Branch& of) const {
    const auto normed = [&](const torch::Tensor& z) {
      return torch::layer_norm(z, {D}, at(norm + ".weight"), at(norm + ".bias"));
    };
    return norm_first_ ? x + of(normed(x)) : normed(x + of(x));
  }

  torch::Tensor attend(const std::string& name, const torch::Tensor& query, const torch::Tensor& key,
                       const torch::Tensor& value, bool causal) const {
    const torch::NoGradGuard no_grad;
    torch::nn::MultiheadAttention attention(torch::nn::MultiheadAttentionOptions(D, 3));
    auto parameters = attention->named_parameters();
    for (const char* leaf : {"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"})
      parameters[leaf].copy_(at(name + "." + leaf));
    const torch::Tensor future =
        causal ? torch::full({query.size(1), query.size(1)}, -INFINITY).triu(1) : torch::Tensor();
    const auto [output, weights] = attention->forward(query.transpose(0, 1), key.transpose(0, 1),
                                                      value.transpose(0, 1), {}, false, future);
    return output.transpose(0, 1);
  }

  bool norm_first_;
  std::map<std::string, torch::Tensor> state_ = torchs_state(true);
};

TEST(Transformer, positions_meet_queries_and_keys_in_each_layer) {
  const torch::Tensor x = test::golden_noise("x", {B, T, D}, kSeed),
                      memory = test::golden_noise("memory", {B, S, D}, kSeed),
                      places = test::golden_noise("places", {T, D}, kSeed),
                      cells = test::golden_noise("cells", {S, D}, kSeed);
  for (const bool norm_first : {false, true}) {
    const DetrLayer theirs(norm_first);
    TransformerLayerOptions options;
    options.width = D;
    options.heads = 3;
    options.feed_forward = 20;
    options.norm_first = norm_first;
    TransformerDecoderLayer decoder(options);
    load(*decoder, from_torch_transformer_layer(torchs_state(true)));
    decoder->eval();
    const torch::Tensor expected = theirs(x, places, memory, cells, /*causal=*/true);
    test::expect_near(decoder->forward(x, memory, {}, AttentionWeights::none, {places, cells}).output,
                      expected, 1e-5, "decoder");
    LayerState state = decoder->begin(memory, B, cells);
    for (int64_t t = 0; t < T; ++t) {
      const LayerStep step = decoder->step(x.narrow(1, t, 1), state, false, {}, places[t]);
      test::expect_near(step.x, expected.narrow(1, t, 1), 1e-5, fmt::format("step {}", t));
    }

    TransformerEncoderLayer encoder(options);
    std::map<std::string, torch::Tensor> encoders = torchs_state(true);
    for (auto item = encoders.begin(); item != encoders.end();) {
      const bool cross = item->first.rfind("multihead_attn", 0) == 0 || item->first.rfind("norm3", 0) == 0;
      item = cross ? encoders.erase(item) : std::next(item);
    }
    load(*encoder, from_torch_transformer_layer(encoders));
    encoder->eval();
    test::expect_near(encoder->forward(memory, {}, AttentionWeights::none, cells).output,
                      theirs(memory, cells, {}, {}, /*causal=*/false), 1e-5, "encoder");
  }
}

TEST(Transformer, layers_return_the_weights_asked_for) {
  TransformerLayerOptions options;
  options.width = D;
  options.heads = 3;
  TransformerEncoderLayer encoder(options);
  TransformerDecoderLayer decoder(options);
  encoder->eval();
  decoder->eval();
  const torch::Tensor x = torch::randn({B, T, D}), memory = torch::randn({B, S, D});
  const AttendedTokens heard = encoder->forward(x, {}, AttentionWeights::per_head);
  EXPECT_EQ(heard.weights.sizes(), (std::vector<int64_t>{B, 3, T, T}));
  const AttendedTokens seen = decoder->forward(x, memory, {}, AttentionWeights::head_mean);
  EXPECT_EQ(seen.weights.sizes(), (std::vector<int64_t>{B, T, S}));
  test::expect_near(seen.weights.sum(2), torch::ones({B, T}), 1e-6, "rows sum to 1");
  EXPECT_FALSE(encoder->forward(x).weights.defined());
}

TEST(Transformer, dropout_acts_in_training_alone) {
  TransformerLayerOptions options;
  options.width = D;
  options.heads = 3;
  options.dropout = 0;
  options.weight_dropout = 0.5;
  TransformerEncoderLayer layer(options);
  const torch::Tensor x = torch::randn({B, T, D});
  layer->eval();
  const torch::Tensor still = layer->forward(x).output;
  EXPECT_TRUE(torch::equal(still, layer->forward(x).output));
  layer->train();
  torch::manual_seed(3);
  const torch::Tensor moved = layer->forward(x).output;
  EXPECT_FALSE(torch::allclose(still, moved));
  EXPECT_FALSE(torch::equal(moved, layer->forward(x).output));
  torch::manual_seed(3);
  EXPECT_TRUE(torch::equal(moved, layer->forward(x).output));
}

TEST(Transformer, every_parameter_gets_a_gradient) {
  TransformerLayerOptions options;
  options.width = D;
  options.heads = 3;
  options.norm_first = true;
  TransformerDecoderLayer layer(options);
  layer->forward(torch::randn({B, T, D}), torch::randn({B, S, D})).output.square().sum().backward();
  std::set<std::string> roots;
  for (const auto& item : layer->named_parameters()) {
    const std::string& name = item.key();
    roots.insert(name.substr(0, name.find('.')));
    // A constant added to all keys changes no weight.
    if (name == "self.key.bias" || name == "cross.key.bias") continue;
    EXPECT_GT(item.value().grad().abs().max().item<double>(), 0) << name;
  }
  EXPECT_EQ(roots, (std::set<std::string>{"self", "cross", "expand", "shrink", "self_norm", "cross_norm",
                                          "feed_norm"}));
}

TEST(Transformer, mistakes_are_told) {
  TransformerLayerOptions options;
  options.width = D;
  options.heads = 5;
  EXPECT_THROWS_WITH(TransformerEncoderLayer{options}, ArgumentError,
                     "[cross_attention] expected heads that divide width 12; got heads 5");
  options.heads = 3;
  options.dropout = 1.5;
  EXPECT_THROWS_WITH(TransformerDecoderLayer{options}, ArgumentError,
                     "[transformer_decoder_layer] expected dropout in [0, 1); got dropout 1.5");
  EXPECT_THROWS_WITH(TransformerEncoderLayer{TransformerLayerOptions()}, ArgumentError,
                     "[transformer_encoder_layer] expected width >= 1; got width 0");
  options.dropout = 0;
  TransformerDecoderLayer layer(options);
  EXPECT_THROWS_WITH(layer->forward(torch::zeros({B, T, D}), torch::zeros({B + 1, S, D})), ArgumentError,
                     "[transformer_decoder_layer] expected memory [B=2, S, D=12]; got memory [3, 4, 12]");
  auto state = torchs_state(true);
  state["norm4.weight"] = torch::zeros({D});
  EXPECT_THROWS_WITH(from_torch_transformer_layer(state), ArgumentError,
                     "[transformer] expected the state of a Transformer layer of PyTorch; got norm4.weight");
  state = torchs_state(false);
  state.erase("linear2.bias");
  EXPECT_THROWS_WITH(from_torch_transformer_layer(state), ArgumentError,
                     "[transformer] expected a tensor linear2.bias; got none");
}

TEST(Transformer, layers_print_themselves) {
  TransformerLayerOptions options;
  options.width = D;
  options.heads = 3;
  std::ostringstream text;
  text << TransformerEncoderLayer(options);
  EXPECT_EQ(text.str().rfind("gaze::TransformerEncoderLayer(width=12, heads=3, feed_forward=48, dropout=0.1, "
                             "weight_dropout=0, norm_first=false, activation=relu)",
                             0),
            0U);
}

}  // namespace
}  // namespace gaze
