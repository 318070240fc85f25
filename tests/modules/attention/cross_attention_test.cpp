#include "modules/attention/cross_attention.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <sstream>

#include "modules/core/attention_map.h"
#include "modules/core/error.h"
#include "tests/modules/attention/block_contract.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

CrossAttentionOptions options_for(int64_t query_width, int64_t memory_width, int64_t heads) {
  CrossAttentionOptions options;
  options.query_width = query_width;
  options.memory_width = memory_width;
  options.heads = heads;
  return options;
}

void make_identity(CrossAttentionImpl& attention) {
  const torch::NoGradGuard guard;
  for (auto& item : attention.named_parameters()) {
    item.value().dim() == 2 ? item.value().copy_(torch::eye(item.value().size(0))) : item.value().zero_();
  }
}

// "I love cats" with identity projections: weights .356 .327 .318, context .450 .550.
TEST(CrossAttention, worked_example) {
  CrossAttention attention(options_for(2, 2, 1));
  make_identity(*attention);
  const torch::Tensor query = torch::tensor({0.6F, 0.4F}).view({1, 1, 2});
  const torch::Tensor memory = torch::tensor({0.9F, 0.1F, 0.3F, 0.7F, 0.1F, 0.9F}).view({1, 3, 2});
  const CrossAttended got = attention->forward(query, memory, {}, AttentionWeights::head_mean);
  EXPECT_NEAR(got.weights[0][0][0].item<float>(), 0.356, 5e-4);
  EXPECT_NEAR(got.weights[0][0][1].item<float>(), 0.327, 5e-4);
  EXPECT_NEAR(got.weights[0][0][2].item<float>(), 0.318, 5e-4);
  EXPECT_NEAR(got.output[0][0][0].item<float>(), 0.450, 5e-4);
  EXPECT_NEAR(got.output[0][0][1].item<float>(), 0.550, 5e-4);
}

// LibTorch's own nn::MultiheadAttention with the same weights, gradients too.
TEST(CrossAttention, agrees_with_torchs_multihead_attention) {
  torch::manual_seed(1);
  CrossAttention attention(options_for(12, 12, 3));
  torch::nn::MultiheadAttention theirs(torch::nn::MultiheadAttentionOptions(12, 3));
  attention->to(torch::kDouble);
  theirs->to(torch::kDouble);
  const auto p = attention->named_parameters();
  {
    const torch::NoGradGuard guard;
    for (const char* name : {"query.bias", "key.bias", "value.bias", "out.bias"}) p[name].normal_();
    theirs->in_proj_weight.copy_(torch::cat({p["query.weight"], p["key.weight"], p["value.weight"]}));
    theirs->in_proj_bias.copy_(torch::cat({p["query.bias"], p["key.bias"], p["value.bias"]}));
    theirs->out_proj->weight.copy_(p["out.weight"]);
    theirs->out_proj->bias.copy_(p["out.bias"]);
  }
  const torch::Tensor query = torch::randn({2, 4, 12}, torch::kDouble),
                      memory = torch::randn({2, 5, 12}, torch::kDouble);
  torch::Tensor hidden = torch::zeros({2, 5}, torch::kBool);  // theirs: true where nobody may look
  hidden[1][4] = true;
  const auto [output, weights] =
      theirs->forward(query.transpose(0, 1), memory.transpose(0, 1), memory.transpose(0, 1), hidden);
  const torch::Tensor mask = hidden.logical_not().view({2, 1, 1, 5});
  const CrossAttended got = attention->forward(query, memory, mask, AttentionWeights::head_mean);
  test::expect_near(got.output, output.transpose(0, 1), 1e-12, "output");
  test::expect_near(got.weights, weights, 1e-12, "weights");
  const auto gradient =
      torch::autograd::grad({got.output.square().sum()}, {p["query.weight"], p["out.weight"]});
  const auto expected =
      torch::autograd::grad({output.square().sum()}, {theirs->in_proj_weight, theirs->out_proj->weight});
  test::expect_near(gradient[0], expected[0].narrow(0, 0, 12), 1e-10, "gradient of query");
  test::expect_near(gradient[1], expected[1], 1e-10, "gradient of out");
}

TEST(CrossAttention, the_halves_make_the_whole) {
  torch::manual_seed(2);
  CrossAttentionOptions options = options_for(8, 6, 2);
  options.width = 4;
  CrossAttention attention(options);
  const torch::Tensor query = torch::randn({2, 3, 8}), memory = torch::randn({2, 5, 6});
  const CrossAttended whole = attention->forward(query, memory, {}, AttentionWeights::per_head);
  EXPECT_EQ(whole.output.sizes(), torch::IntArrayRef({2, 3, 8}));
  EXPECT_EQ(whole.weights.sizes(), torch::IntArrayRef({2, 2, 3, 5}));
  const ProjectedMemory projected = attention->project_memory(memory);
  EXPECT_EQ(projected.keys.sizes(), torch::IntArrayRef({2, 2, 5, 2}));
  EXPECT_EQ(projected.values.sizes(), torch::IntArrayRef({2, 2, 5, 2}));
  const CrossAttended halves =
      attention->attend_projected(query, projected.keys, projected.values, {}, AttentionWeights::head_mean);
  EXPECT_TRUE(torch::equal(halves.output, whole.output));
  test::expect_near(halves.weights, whole.weights.mean(1), 1e-6, "mean over heads");
  EXPECT_FALSE(attention->forward(query, memory).weights.defined());
}

TEST(CrossAttention, causal_self_attention_steps_with_a_cache) {
  torch::manual_seed(3);
  CrossAttentionOptions options = options_for(8, 0, 2);
  options.causal = true;
  CrossAttention attention(options);
  const torch::Tensor words = torch::randn({2, 5, 8});
  const torch::Tensor all = attention->forward(words, words).output;
  std::vector<torch::Tensor> keys, values;
  for (int64_t t = 0; t < 5; ++t) {
    const torch::Tensor word = words.narrow(1, t, 1);
    const ProjectedMemory one = attention->project_memory(word);
    keys.push_back(one.keys);
    values.push_back(one.values);
    const CrossAttended step = attention->attend_projected(word, torch::cat(keys, 2), torch::cat(values, 2));
    test::expect_near(step.output, all.narrow(1, t, 1), 1e-6, fmt::format("step {}", t));
  }
}

TEST(CrossAttention, starts_xavier_uniform_with_zero_biases) {
  torch::manual_seed(4);
  CrossAttention attention(options_for(64, 32, 4));
  const auto p = attention->named_parameters();
  for (const auto& [name, fans] :
       std::vector<std::pair<std::string, double>>{{"query", 128}, {"key", 96}, {"value", 96}}) {
    const double bound = std::sqrt(6 / fans);
    const torch::Tensor weight = p[name + ".weight"];
    EXPECT_LE(weight.abs().max().item<double>(), bound) << name;
    EXPECT_NEAR(weight.std().item<double>(), bound / std::sqrt(3.0), 0.03 * bound) << name;
    EXPECT_EQ(p[name + ".bias"].abs().max().item<double>(), 0) << name;
  }
  EXPECT_EQ(p["out.bias"].abs().max().item<double>(), 0);
}

TEST(CrossAttention, dropout_acts_in_training_only_and_leaves_the_weights_readable) {
  torch::manual_seed(5);
  CrossAttentionOptions options = options_for(8, 8, 2);
  options.dropout = 0.5;
  CrossAttention attention(options);
  const torch::Tensor x = torch::randn({2, 6, 8});
  const CrossAttended first = attention->forward(x, x, {}, AttentionWeights::per_head);
  const CrossAttended second = attention->forward(x, x, {}, AttentionWeights::per_head);
  EXPECT_FALSE(torch::equal(first.output, second.output));
  test::expect_near(first.weights.sum(3), torch::ones({2, 2, 6}), 1e-6, "weights before dropout");
  first.output.sum().backward();
  EXPECT_GT(attention->named_parameters()["query.weight"].grad().abs().max().item<float>(), 0);
  attention->eval();
  EXPECT_TRUE(torch::equal(attention->forward(x, x).output, attention->forward(x, x).output));
}

TEST(CrossAttention, dropout_keeps_the_mean) {
  torch::manual_seed(6);
  CrossAttentionOptions options = options_for(4, 4, 1);
  options.dropout = 0.5;
  CrossAttention attention(options);
  make_identity(*attention);
  const torch::Tensor ones = torch::ones({1, 4000, 4});
  const torch::Tensor output = attention->forward(torch::ones({1, 16, 4}), ones).output;
  EXPECT_NEAR(output.mean().item<float>(), 1, 0.02);
}

TEST(CrossAttention, files_its_map_only_when_asked) {
  CrossAttention attention(options_for(4, 4, 2));
  const torch::Tensor query = torch::randn({1, 2, 4}), memory = torch::randn({1, 3, 4});
  attention->forward(query, memory);
  MapRecorder recorder;
  const CrossAttended got = attention->forward(query, memory);
  EXPECT_FALSE(got.weights.defined());
  ASSERT_EQ(recorder.maps().size(), 1U);
  EXPECT_EQ(recorder.maps()[0].name, "cross");
  EXPECT_EQ(recorder.maps()[0].kind, AttentionMap::Kind::token);
  EXPECT_EQ(recorder.maps()[0].values.sizes(), torch::IntArrayRef({1, 2, 3}));
}

TEST(CrossAttention, a_query_that_sees_nothing_gets_the_bias) {
  CrossAttention attention(options_for(4, 4, 2));
  const torch::NoGradGuard guard;
  attention->named_parameters()["out.bias"].fill_(3);
  const torch::Tensor x = torch::randn({1, 2, 4});
  EXPECT_TRUE(torch::equal(attention->forward(x, x, torch::zeros({2, 2}, torch::kBool)).output,
                           torch::full({1, 2, 4}, 3.0F)));
}

TEST(CrossAttention, keys_counts_and_printing) {
  CrossAttentionOptions options = options_for(8, 6, 2);
  EXPECT_EQ(test::keys_of(*CrossAttention(options)),
            (std::vector<std::string>{"query.weight", "query.bias", "key.weight", "key.bias", "value.weight",
                                      "value.bias", "out.weight", "out.bias"}));
  // 3 queries: query and out 2·8·8 each; 5 keys: key and value 2·6·8; both products 2·3·5·8.
  EXPECT_EQ(CrossAttention(options)->macs(3, 5), 3 * 128 + 5 * 96 + 240);
  std::ostringstream stream;
  stream << *CrossAttention(options);
  EXPECT_EQ(stream.str().substr(0, stream.str().find('\n')),
            "gaze::CrossAttention(query_width=8, memory_width=6, width=8, heads=2, bias=true, dropout=0, "
            "causal=false)(");
  options.bias = false;
  EXPECT_EQ(test::keys_of(*CrossAttention(options)),
            (std::vector<std::string>{"query.weight", "key.weight", "value.weight", "out.weight"}));
}

TEST(CrossAttentionErrors, name_what_was_expected_and_what_came) {
  const auto make = [](CrossAttentionOptions options) { return CrossAttention(options); };
  CrossAttentionOptions options = options_for(8, 8, 3);
  EXPECT_THROWS_WITH(make(options), ArgumentError,
                     "[cross_attention] expected heads that divide width 8; got heads 3");
  EXPECT_THROWS_WITH(make(options_for(8, 8, 0)), ArgumentError,
                     "[cross_attention] expected heads >= 1; got heads 0");
  EXPECT_THROWS_WITH(make(options_for(0, 8, 1)), ArgumentError,
                     "[cross_attention] expected query_width >= 1; got query_width 0");
  EXPECT_THROWS_WITH(make(options_for(8, -1, 1)), ArgumentError,
                     "[cross_attention] expected memory_width >= 1; got memory_width -1");
  options = options_for(8, 8, 2);
  options.width = -2;
  EXPECT_THROWS_WITH(make(options), ArgumentError, "[cross_attention] expected width >= 1; got width -2");
  options.width = 0;
  options.dropout = 1;
  EXPECT_THROWS_WITH(make(options), ArgumentError,
                     "[cross_attention] expected dropout in [0, 1); got dropout 1");
  CrossAttention attention(options_for(8, 6, 2));
  EXPECT_THROWS_WITH(attention->forward(torch::zeros({1, 2, 7}), torch::zeros({1, 3, 6})), ArgumentError,
                     "[cross_attention] expected query [B, T, query_width=8]; got query [1, 2, 7]");
  EXPECT_THROWS_WITH(attention->forward(torch::zeros({1, 2, 8}), torch::zeros({2, 3, 6})), ArgumentError,
                     "[cross_attention] expected memory [B=1, S, memory_width=6]; got memory [2, 3, 6]");
  EXPECT_THROWS_WITH(attention->project_memory(torch::zeros({2, 3, 8})), ArgumentError,
                     "[cross_attention] expected memory [B, S, memory_width=6]; got memory [2, 3, 8]");
}

}  // namespace
}  // namespace gaze
