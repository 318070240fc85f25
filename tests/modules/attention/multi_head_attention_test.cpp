#include "modules/attention/multi_head_attention.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "modules/core/attention_map.h"
#include "modules/core/error.h"
#include "tests/modules/attention/block_contract.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

MultiHeadAttentionOptions options_for(int64_t query_width, int64_t heads) {
  MultiHeadAttentionOptions options;
  options.query_width = query_width;
  options.heads = heads;
  return options;
}

std::map<std::string, torch::Tensor> state_of(const torch::nn::Module& module) {
  std::map<std::string, torch::Tensor> state;
  for (const auto& item : module.named_parameters()) state[item.key()] = item.value().detach();
  return state;
}

void load(torch::nn::Module& module, const std::map<std::string, torch::Tensor>& state) {
  const torch::NoGradGuard guard;
  auto parameters = module.named_parameters();
  ASSERT_EQ(parameters.size(), state.size());
  for (const auto& [name, value] : state) parameters[name].copy_(value);
}

// The masks of one comparison. LibTorch's module takes pairs as numbers to add, and padding that is true
// where nobody may look.
struct Case {
  std::string name;
  AttentionMask ours;
  torch::Tensor attn_mask, key_padding_mask;
  bool causal = false;
};

std::vector<Case> mask_cases(int64_t B, int64_t T, int64_t S) {
  const torch::Tensor hidden = torch::zeros({T, S}, torch::kBool);
  for (int64_t t = 0; t < T; ++t) hidden[t][(2 * t + 1) % S] = true;
  const torch::Tensor padding = torch::zeros({B, S}, torch::kBool);
  padding[1][S - 1] = true;
  padding[1][S - 2] = true;
  const torch::Tensor added = torch::randn({T, S}, torch::kDouble);
  const auto as_numbers = [&](const torch::Tensor& hide) {
    return torch::zeros({T, S}, torch::kDouble).masked_fill(hide, -std::numeric_limits<double>::infinity());
  };
  const torch::Tensor boolean = as_numbers(hidden);
  const torch::Tensor future = as_numbers(torch::ones({T, S}, torch::kBool).triu(S - T + 1));
  return {
      {"no mask", {}, {}, {}},
      {"boolean", hidden.logical_not(), boolean, {}},
      {"float", added, added, {}},
      {"key padding", {{}, padding}, {}, padding},
      {"boolean and key padding", {hidden.logical_not(), padding}, boolean, padding},
      {"float and key padding", {added, padding}, added, padding},
      {"causal", {}, future, {}, true},
      {"causal and key padding", {{}, padding}, future, padding, true},
  };
}

void expect_torchs(const MultiHeadAttentionOptions& base, int64_t key_width) {
  const int64_t B = 2, T = 4, S = 5;
  const auto their_options = torch::nn::MultiheadAttentionOptions(base.query_width, base.heads)
                                 .bias(base.bias)
                                 .kdim(key_width)
                                 .vdim(key_width);
  torch::nn::MultiheadAttention theirs(their_options);
  test::randomise(*theirs);
  theirs->to(torch::kDouble);
  const torch::Tensor query = torch::randn({B, T, base.query_width}, torch::kDouble),
                      key = torch::randn({B, S, key_width}, torch::kDouble),
                      value = torch::randn({B, S, key_width}, torch::kDouble);
  for (const Case& one : mask_cases(B, T, S)) {
    MultiHeadAttentionOptions options = base;
    options.key_width = key_width;
    options.causal = one.causal;
    MultiHeadAttention ours(options);
    ours->to(torch::kDouble);
    load(*ours, from_torch_multihead(state_of(*theirs)));
    const auto [expected, weights] =
        theirs->forward(query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1),
                        one.key_padding_mask, /*need_weights=*/true, one.attn_mask);
    const AttendedTokens got = ours->forward(query, key, value, one.ours, AttentionWeights::head_mean);
    test::expect_near(got.output, expected.transpose(0, 1), 1e-12, one.name);
    test::expect_near(got.weights, weights, 1e-12, one.name);
    const auto gradient = torch::autograd::grad({got.output.square().sum()}, ours->parameters());
    const auto their_gradient = torch::autograd::grad({expected.square().sum()}, theirs->parameters());
    std::map<std::string, torch::Tensor> renamed;
    for (size_t i = 0; i < their_gradient.size(); ++i)
      renamed[theirs->named_parameters()[i].key()] = their_gradient[i];
    renamed = from_torch_multihead(renamed);
    for (size_t i = 0; i < gradient.size(); ++i) {
      const std::string name = ours->named_parameters()[i].key();
      test::expect_near(gradient[i], renamed.at(name), 1e-10, one.name + ", gradient of " + name);
    }
  }
}

TEST(MultiHeadAttention, agrees_with_torchs_under_every_mask) {
  torch::manual_seed(1);
  expect_torchs(options_for(12, 3), 12);
}

TEST(MultiHeadAttention, agrees_with_torchs_for_keys_and_values_of_another_width) {
  torch::manual_seed(2);
  expect_torchs(options_for(12, 2), 7);
}

TEST(MultiHeadAttention, agrees_with_torchs_without_biases) {
  torch::manual_seed(3);
  MultiHeadAttentionOptions options = options_for(8, 4);
  options.bias = false;
  expect_torchs(options, 8);
}

// The formula a scalar at a time.
TEST(MultiHeadAttention, is_the_papers_formula) {
  torch::manual_seed(4);
  MultiHeadAttentionOptions options = options_for(5, 3);
  options.key_width = 4;
  options.value_width = 7;
  options.width = 6;
  MultiHeadAttention attention(options);
  test::randomise(*attention);
  const int64_t T = 3, S = 4, N = 3, D = 2;
  const torch::Tensor query = torch::randn({1, T, 5}), key = torch::randn({1, S, 4}),
                      value = torch::randn({1, S, 7});
  const auto state = state_of(*attention);
  const auto project = [&](const std::string& name, const torch::Tensor& tokens, int64_t token,
                           int64_t unit) {
    double sum = state.at(name + ".bias")[unit].item<double>();
    for (int64_t i = 0; i < tokens.size(2); ++i)
      sum += state.at(name + ".weight")[unit][i].item<double>() * tokens[0][token][i].item<double>();
    return sum;
  };
  torch::Tensor joined = torch::zeros({1, T, N * D}, torch::kDouble);
  for (int64_t n = 0; n < N; ++n)
    for (int64_t t = 0; t < T; ++t) {
      std::vector<double> weight(S);
      double sum = 0;
      for (int64_t s = 0; s < S; ++s) {
        double score = 0;
        for (int64_t d = n * D; d < (n + 1) * D; ++d)
          score += project("query", query, t, d) * project("key", key, s, d) / std::sqrt(2.0);
        sum += weight[s] = std::exp(score);
      }
      for (int64_t s = 0; s < S; ++s)
        for (int64_t d = n * D; d < (n + 1) * D; ++d)
          joined[0][t][d] += weight[s] / sum * project("value", value, s, d);
    }
  torch::Tensor expected = torch::zeros({1, T, 5}, torch::kDouble);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t e = 0; e < 5; ++e) expected[0][t][e] = project("out", joined, t, e);
  test::expect_near(attention->forward(query, key, value).output, expected, 1e-5, "formula");
}

TEST(MultiHeadAttention, one_whose_keys_are_all_padding_gets_the_bias) {
  MultiHeadAttention attention(options_for(4, 2));
  const torch::NoGradGuard guard;
  attention->named_parameters()["out.bias"].fill_(3);
  const torch::Tensor x = torch::randn({2, 3, 4}), padding = torch::zeros({2, 3}, torch::kBool);
  padding[1].fill_(true);
  const AttendedTokens got = attention->forward(x, x, x, {{}, padding}, AttentionWeights::per_head);
  EXPECT_TRUE(torch::equal(got.output[1], torch::full({3, 4}, 3.0F)));
  EXPECT_TRUE(torch::equal(got.weights[1], torch::zeros({2, 3, 3})));
  EXPECT_FALSE(torch::equal(got.output[0], torch::full({3, 4}, 3.0F)));
  for (const torch::Tensor& mask : {torch::zeros({3, 3}), torch::ones({3, 3}).to(torch::kBool)}) {
    EXPECT_TRUE(torch::equal(attention->forward(x, x, x, {mask, padding}).output, got.output));
  }
}

TEST(MultiHeadAttention, files_what_it_looked_at) {
  MultiHeadAttention attention(options_for(4, 2));
  const torch::Tensor x = torch::randn({1, 2, 4}), memory = torch::randn({1, 3, 4});
  const MapRecorder recorder;
  attention->forward(x, x, x);
  attention->forward(x, memory, memory);
  ASSERT_EQ(recorder.maps().size(), 2U);
  EXPECT_EQ(recorder.maps()[0].name, "self");
  EXPECT_EQ(recorder.maps()[0].values.sizes(), torch::IntArrayRef({1, 2, 2}));
  EXPECT_EQ(recorder.maps()[1].name, "cross");
  EXPECT_EQ(recorder.maps()[1].values.sizes(), torch::IntArrayRef({1, 2, 3}));
}

TEST(MultiHeadAttention, keys_counts_and_printing) {
  MultiHeadAttentionOptions options = options_for(8, 2);
  options.key_width = 6;
  options.value_width = 5;
  MultiHeadAttention attention(options);
  EXPECT_EQ(test::keys_of(*attention),
            (std::vector<std::string>{"query.weight", "query.bias", "key.weight", "key.bias", "value.weight",
                                      "value.bias", "out.weight", "out.bias"}));
  // 3 queries: query and out 2·8·8 each; 5 keys: (6 + 5)·8; both products 2·3·5·8.
  EXPECT_EQ(attention->macs(3, 5), 3 * 128 + 5 * 88 + 240);
  std::ostringstream stream;
  attention->pretty_print(stream);
  EXPECT_EQ(
      stream.str(),
      "gaze::MultiHeadAttention(query_width=8, key_width=6, value_width=5, width=8, heads=2, bias=true, "
      "dropout=0, causal=false, relative=0, grid_relative=0)");
}

TEST(MultiHeadAttention, works_in_half_precision_on_no_tokens_and_no_pictures) {
  MultiHeadAttention attention(options_for(4, 2));
  attention->to(torch::kBFloat16);
  for (const auto& [B, T] : std::vector<std::pair<int64_t, int64_t>>{{0, 3}, {2, 0}, {2, 3}}) {
    const torch::Tensor x = torch::randn({B, T, 4}).to(torch::kBFloat16);
    const torch::Tensor y = attention->forward(x, x, x).output;
    EXPECT_EQ(y.sizes(), x.sizes());
    EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
    EXPECT_TRUE(torch::isfinite(y).all().item<bool>());
  }
}

// A head by itself, in float64: the bias of a query j places behind its key is entry L-1+j.
TEST(MultiHeadAttention, relative_positions_bias_each_head_by_distance) {
  torch::manual_seed(8);
  MultiHeadAttentionOptions options = options_for(6, 2);
  options.relative = 3;
  for (const bool inside : {false, true}) {
    options.relative_inside = inside;
    MultiHeadAttention attention(options);
    attention->to(torch::kDouble);
    auto p = attention->named_parameters();
    ASSERT_EQ(p["relative"].sizes(), (std::vector<int64_t>{2, 5}));
    EXPECT_TRUE(p["relative"].eq(0).all().item<bool>());
    const torch::NoGradGuard guard;
    p["relative"].normal_();
    const int64_t T = 6;
    const torch::Tensor x = torch::randn({1, T, 6}, torch::kDouble);
    const torch::Tensor q = torch::linear(x, p["query.weight"], p["query.bias"]),
                        k = torch::linear(x, p["key.weight"], p["key.bias"]);
    const torch::Tensor weights = attention->forward(x, x, x, {}, AttentionWeights::per_head).weights;
    for (int64_t n = 0; n < 2; ++n) {
      torch::Tensor scores = q[0].narrow(1, 3 * n, 3).matmul(k[0].narrow(1, 3 * n, 3).t());
      if (!inside) scores = scores / std::sqrt(3.0);
      for (int64_t t = 0; t < T; ++t)
        for (int64_t s = 0; s < T; ++s)
          scores[t][s] += p["relative"][n][2 + std::max<int64_t>(-2, std::min<int64_t>(2, t - s))];
      if (inside) scores = scores / std::sqrt(3.0);
      test::expect_near(weights[0][n], scores.softmax(1), 1e-12, fmt::format("head {}, {}", n, inside));
    }
  }
}

TEST(MultiHeadAttention, dropout_acts_in_training_and_on_the_output_alone) {
  torch::manual_seed(9);
  MultiHeadAttentionOptions options = options_for(8, 2);
  options.dropout = 0.4;
  MultiHeadAttention attention(options);
  const torch::Tensor x = torch::randn({2, 5, 8});
  attention->eval();
  const AttendedTokens still = attention->forward(x, x, x, {}, AttentionWeights::per_head);
  attention->train();
  const AttendedTokens first = attention->forward(x, x, x, {}, AttentionWeights::per_head);
  EXPECT_TRUE(torch::equal(first.weights, still.weights));
  EXPECT_FALSE(torch::allclose(first.output, still.output));
  torch::Tensor sum = torch::zeros_like(still.output);
  const int64_t draws = 2000;
  for (int64_t i = 0; i < draws; ++i) sum += attention->forward(x, x, x).output.detach();
  // The mean's deviation: each weight's factor has variance 0.4 / 0.6.
  EXPECT_LT((sum / draws - still.output).abs().max().item<double>(), 0.05);
}

TEST(MultiHeadAttention, narrow_heads_are_warned_about) {
  class Warnings : public c10::WarningHandler {
   public:
    void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
    std::vector<std::string> texts;
  } warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  const c10::WarningUtils::WarnAlways always(true);
  MultiHeadAttention wide(options_for(64, 2));
  EXPECT_TRUE(warnings.texts.empty());
  MultiHeadAttention narrow(options_for(64, 4));
  EXPECT_EQ(warnings.texts, (std::vector<std::string>{
                                "[multi_head_attention] heads of width 16: under 32 kernels are slow and "
                                "scores coarse; fewer heads may do more"}));
}

TEST(MultiHeadAttentionErrors, name_what_was_expected_and_what_came) {
  const auto make = [](MultiHeadAttentionOptions options) { return MultiHeadAttention(options); };
  EXPECT_THROWS_WITH(make(options_for(8, 3)), ArgumentError,
                     "[multi_head_attention] expected heads that divide width 8; got heads 3");
  MultiHeadAttentionOptions options = options_for(8, 2);
  options.key_width = -1;
  EXPECT_THROWS_WITH(make(options), ArgumentError,
                     "[multi_head_attention] expected key_width >= 1; got key_width -1");
  options.key_width = 6;
  options.value_width = -2;
  EXPECT_THROWS_WITH(make(options), ArgumentError,
                     "[multi_head_attention] expected value_width >= 1; got value_width -2");
  options.value_width = 5;
  MultiHeadAttention attention(options);
  const torch::Tensor q = torch::zeros({2, 3, 8}), k = torch::zeros({2, 4, 6}), v = torch::zeros({2, 4, 5});
  EXPECT_THROWS_WITH(attention->forward(k, k, v), ArgumentError,
                     "[multi_head_attention] expected query [B, T, query_width=8]; got query [2, 4, 6]");
  EXPECT_THROWS_WITH(attention->forward(q, v, v), ArgumentError,
                     "[multi_head_attention] expected key [B=2, S, key_width=6]; got key [2, 4, 5]");
  EXPECT_THROWS_WITH(attention->forward(q, k, v.narrow(1, 0, 3)), ArgumentError,
                     "[multi_head_attention] expected value [B=2, S=4, value_width=5]; got value [2, 3, 5]");
  const torch::Tensor padding = torch::zeros({2, 4}, torch::kBool);
  EXPECT_THROWS_WITH(attention->forward(q, k, v, {{}, padding.narrow(1, 0, 3)}), ArgumentError,
                     "[multi_head_attention] expected key_padding [B=2, S=4]; got key_padding [2, 3]");
  EXPECT_THROWS_WITH(attention->forward(q, k, v, {{}, torch::zeros({2, 4})}), ArgumentError,
                     "[multi_head_attention] expected key_padding bool; got key_padding Float");
  EXPECT_THROWS_WITH(attention->forward(q, k, v, {torch::zeros({3, 3}), padding}), ArgumentError,
                     "[attend] expected mask broadcastable to [B, N, T, S] = [2, 2, 3, 4]; got "
                     "mask [3, 3]");
  EXPECT_THROWS_WITH(attention->forward(q, k, v, {torch::zeros({3, 4}, torch::kLong), padding}),
                     ArgumentError, "[attend] expected mask bool or floating; got mask Long");
}

TEST(MultiHeadAttentionErrors, tensors_of_torch_that_do_not_fit) {
  torch::nn::MultiheadAttention theirs(torch::nn::MultiheadAttentionOptions(4, 2).add_bias_kv(true));
  auto state = state_of(*theirs);
  EXPECT_THROWS_WITH(
      from_torch_multihead(state), ArgumentError,
      "[multi_head_attention] expected an nn.MultiheadAttention without bias_k and bias_v; got "
      "bias_k");
  state.erase("bias_k");
  state.erase("bias_v");
  state.erase("out_proj.bias");
  EXPECT_THROWS_WITH(from_torch_multihead(state), ArgumentError,
                     "[multi_head_attention] expected a tensor out_proj.bias of nn.MultiheadAttention; got "
                     "none");
  state["in_proj_weight"] = torch::zeros({11, 4});
  EXPECT_THROWS_WITH(from_torch_multihead(state), ArgumentError,
                     "[multi_head_attention] expected in_proj_weight [3E, ...]; got in_proj_weight [11, 4]");
}

}  // namespace
}  // namespace gaze
