#include "modules/attention/global_attention.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "modules/core/attention_map.h"
#include "modules/core/error.h"
#include "tests/modules/attention/block_contract.h"
#include "tests/support/golden_weights.h"
#include "tests/support/gradient_check.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

using test::expect_near;

constexpr AttentionScore kScores[] = {AttentionScore::additive, AttentionScore::dot, AttentionScore::general,
                                      AttentionScore::scaled_dot};

GlobalAttentionOptions options_for(AttentionScore score, int64_t query_width, int64_t key_width = 0) {
  GlobalAttentionOptions options;
  options.score = score;
  options.query_width = query_width;
  options.key_width = key_width;
  return options;
}

GlobalAttention random_attention(const GlobalAttentionOptions& options) {
  GlobalAttention attention(options);
  test::randomise(*attention);
  attention->to(torch::kDouble);
  return attention;
}

bool any_widths(AttentionScore score) {
  return score == AttentionScore::additive || score == AttentionScore::general;
}

// The formulas, a scalar at a time. query [B, T, query_width]; mask [B, T, S] or undefined.
AttendedMemory reference(const GlobalAttention& attention, const torch::Tensor& query,
                         const torch::Tensor& memory, const torch::Tensor& mask) {
  std::map<std::string, torch::Tensor> state;
  for (const auto& item : attention->named_parameters())
    state[item.key()] = item.value().detach().to(torch::kDouble);
  const torch::Tensor wide_query = query.to(torch::kDouble), wide_memory = memory.to(torch::kDouble);
  const auto q = wide_query.accessor<double, 3>(), m = wide_memory.accessor<double, 3>();
  const int64_t B = query.size(0), T = query.size(1), S = memory.size(1), Q = query.size(2),
                K = memory.size(2);
  const auto score = [&](int64_t b, int64_t t, int64_t s) {
    double sum = 0;
    switch (attention->options().score) {
      case AttentionScore::additive: {
        const torch::Tensor weight = state.at("attn.weight"), v = state.at("v.weight");
        const auto rows = weight.accessor<double, 2>();
        for (int64_t d = 0; d < weight.size(0); ++d) {
          double inside = state.count("attn.bias") ? state["attn.bias"][d].item<double>() : 0;
          for (int64_t i = 0; i < K; ++i) inside += rows[d][i] * m[b][s][i];
          for (int64_t i = 0; i < Q; ++i) inside += rows[d][K + i] * q[b][t][i];
          sum += v[0][d].item<double>() * std::tanh(inside);
        }
        return sum;
      }
      case AttentionScore::general: {
        const auto w = state.at("general.weight").accessor<double, 2>();
        for (int64_t i = 0; i < Q; ++i)
          for (int64_t j = 0; j < K; ++j) sum += q[b][t][i] * w[i][j] * m[b][s][j];
        return sum;
      }
      default:
        for (int64_t i = 0; i < Q; ++i) sum += q[b][t][i] * m[b][s][i];
        return attention->options().score == AttentionScore::dot ? sum : sum / std::sqrt(double(Q));
    }
  };
  AttendedMemory result{torch::zeros({B, T, K}, torch::kDouble), torch::zeros({B, T, S}, torch::kDouble)};
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < T; ++t) {
      std::vector<double> powers(S);
      double sum = 0;
      for (int64_t s = 0; s < S; ++s) {
        if (mask.defined() && !mask[b][t][s].item<bool>()) continue;
        sum += powers[s] = std::exp(score(b, t, s));
      }
      for (int64_t s = 0; s < S && sum > 0; ++s) {
        result.weights[b][t][s] = powers[s] / sum;
        result.context[b][t] += wide_memory[b][s] * (powers[s] / sum);
      }
    }
  return result;
}

// Every number of the PyTorch module that tutorials call Attention(hidden), under its own state keys.
void expect_golden(torch::ScalarType dtype, double bound) {
  std::ifstream file(GAZE_SOURCE_DIR "/tests/golden/attention/additive.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  const uint64_t seed = golden.at("seed");
  ASSERT_EQ(golden.at("cases").size(), 2U);
  for (const nlohmann::json& one : golden.at("cases")) {
    const int64_t hidden = one.at("hidden"), B = one.at("batch"), S = one.at("source");
    GlobalAttention attention(options_for(AttentionScore::additive, hidden));
    std::map<std::string, std::vector<int64_t>> keys;
    for (const auto& item : attention->named_parameters()) keys[item.key()] = item.value().sizes().vec();
    EXPECT_EQ(keys, (one.at("keys").get<std::map<std::string, std::vector<int64_t>>>()));
    test::fill_golden(*attention, seed, {});
    attention->to(dtype);
    const auto noise = [&](const char* key, at::IntArrayRef shape) {
      return test::golden_noise(key, shape, seed).to(dtype);
    };
    const auto read = [](const nlohmann::json& numbers, at::IntArrayRef shape) {
      return torch::tensor(numbers.get<std::vector<double>>(), torch::kDouble).view(shape);
    };
    const torch::Tensor state = (2 * noise("state", {B, hidden})).requires_grad_(true),
                        outputs = (2 * noise("outputs", {B, S, hidden})).requires_grad_(true);
    const AttendedMemory got = attention->forward(state, outputs);
    expect_near(got.context, read(one.at("context"), {B, hidden}), bound, "context");
    expect_near(got.weights, read(one.at("weights"), {B, S}), bound, "weights");
    if (!one.contains("gradients")) continue;
    const torch::Tensor loss = (got.context * noise("of_context", {B, hidden})).sum() +
                               (got.weights * noise("of_weights", {B, S})).sum();
    auto leaves = attention->named_parameters();
    leaves.insert("state", state);
    leaves.insert("outputs", outputs);
    EXPECT_EQ(one.at("gradients").size(), leaves.size());
    for (const auto& leaf : leaves) {
      const torch::Tensor gradient = torch::autograd::grad({loss}, {leaf.value()}, {}, true)[0];
      expect_near(gradient, read(one.at("gradients").at(leaf.key()), leaf.value().sizes()), bound,
                  leaf.key());
    }
  }
}

TEST(GlobalAttention, takes_the_weights_of_pytorchs_additive_attention_and_gives_its_numbers) {
  expect_golden(torch::kFloat, 1e-6);
  expect_golden(torch::kDouble, 1e-8);  // the file has nine digits
}

// "I love cats": scores .410 .325 .297, weights .356 .327 .318, context .450 .550.
TEST(GlobalAttention, worked_example) {
  GlobalAttention attention(options_for(AttentionScore::scaled_dot, 2));
  const torch::Tensor state = torch::tensor({{0.6, 0.4}}, torch::kDouble);
  const torch::Tensor outputs = torch::tensor({0.9, 0.1, 0.3, 0.7, 0.1, 0.9}, torch::kDouble).view({1, 3, 2});
  const AttendedMemory got = attention->forward(state, outputs);
  const double scores[3] = {0.410, 0.325, 0.297}, weights[3] = {0.356, 0.327, 0.318};
  for (int64_t s = 0; s < 3; ++s) {
    EXPECT_NEAR(got.weights[0][s].item<double>(), weights[s], 5e-4);
    EXPECT_NEAR(std::log(got.weights[0][s].item<double>() / got.weights[0][0].item<double>()),
                scores[s] - scores[0], 1e-3);  // the op's scores, up to one constant
  }
  EXPECT_NEAR(got.context[0][0].item<double>(), 0.450, 5e-4);
  EXPECT_NEAR(got.context[0][1].item<double>(), 0.550, 5e-4);

  // With Luong's scores the same state weighs by e^.58, e^.46, e^.42.
  const double sum = std::exp(0.58) + std::exp(0.46) + std::exp(0.42);
  const torch::Tensor expected =
      torch::tensor({{std::exp(0.58) / sum, std::exp(0.46) / sum, std::exp(0.42) / sum}}, torch::kDouble);
  GlobalAttention dot(options_for(AttentionScore::dot, 2));
  expect_near(dot->forward(state, outputs).weights, expected, 1e-14, "dot");
  GlobalAttention general(options_for(AttentionScore::general, 2));
  general->to(torch::kDouble);
  torch::NoGradGuard guard;
  general->parameters()[0].copy_(torch::tensor({{0.0, 1.0}, {1.0, 0.0}}, torch::kDouble));
  expect_near(general->forward(state.flip(1), outputs).weights, expected, 1e-14, "general");
}

struct Sizes {
  int64_t B, T, S, query_width, key_width;
};

TEST(GlobalAttention, is_the_papers_formula_for_every_score_and_mask) {
  torch::manual_seed(1);
  for (const AttentionScore score : kScores)
    for (const Sizes& z : {Sizes{1, 1, 1, 1, 1}, Sizes{2, 3, 5, 4, 7}, Sizes{3, 1, 9, 6, 2},
                           Sizes{1, 6, 35, 5, 3}, Sizes{2, 2, 0, 3, 3}, Sizes{0, 2, 3, 2, 2}}) {
      GlobalAttentionOptions options =
          options_for(score, z.query_width, any_widths(score) ? z.key_width : z.query_width);
      options.width = 5;
      options.bias = z.T != 3;
      GlobalAttention attention = random_attention(options);
      const int64_t key_width = attention->options().key_width;
      for (const torch::Tensor& mask :
           {torch::Tensor(), torch::rand({z.B, z.S}) > 0.4, torch::rand({z.B, z.T, z.S}) > 0.4}) {
        const std::string context =
            fmt::format("score {}, B {} T {} S {}, mask of {} dimensions", static_cast<int>(score), z.B, z.T,
                        z.S, mask.defined() ? mask.dim() : 0);
        const torch::Tensor query = torch::randn({z.B, z.T, z.query_width}, torch::kDouble),
                            memory = torch::randn({z.B, z.S, key_width}, torch::kDouble);
        torch::Tensor pairs = mask;
        if (mask.defined() && mask.dim() == 2) pairs = mask.unsqueeze(1).expand({z.B, z.T, z.S});
        const AttendedMemory expected = reference(attention, query, memory, pairs);
        const AttendedMemory got = attention->forward(query, memory, mask);
        expect_near(got.context, expected.context, 1e-12, context);
        expect_near(got.weights, expected.weights, 1e-12, context);
        // A state alone, and the two halves of forward.
        const torch::Tensor first = mask.defined() && mask.dim() == 3 ? mask.narrow(1, 0, 1) : mask;
        const AttendedMemory one = attention->forward(query.select(1, 0), memory, first);
        expect_near(one.context, expected.context.select(1, 0), 1e-12, context + ", one state");
        expect_near(one.weights, expected.weights.select(1, 0), 1e-12, context + ", one state");
        const AttendedMemory halves =
            attention->attend_projected(query, attention->project(memory), memory, mask);
        EXPECT_TRUE(torch::equal(halves.context, got.context)) << context;
      }
    }
}

TEST(GlobalAttention, random_cases_keep_what_attention_promises) {
  torch::manual_seed(2);
  for (const AttentionScore score : kScores)
    for (int64_t i = 0; i < 200; ++i) {
      const auto between = [](int64_t least, int64_t most) {
        return torch::randint(least, most + 1, {1}).item<int64_t>();
      };
      const int64_t B = between(1, 3), T = between(1, 6), S = between(1, 40), Q = between(1, 12);
      const int64_t K = any_widths(score) ? between(1, 12) : Q;
      GlobalAttention attention(options_for(score, Q, K));
      test::randomise(*attention);
      const torch::NoGradGuard guard;
      const torch::Tensor query = torch::randn({B, T, Q}), memory = torch::randn({B, S, K});
      const torch::Tensor mask = i % 2 == 0 ? torch::rand({B, S}) > 0.4 : torch::rand({B, T, S}) > 0.4;
      const torch::Tensor pairs = mask.dim() == 3 ? mask : mask.unsqueeze(1).expand({B, T, S});
      const torch::Tensor filled = pairs.any(2).to(torch::kDouble);
      const std::string name = fmt::format("score {}, case {}", static_cast<int>(score), i);
      const AttendedMemory got = attention->forward(query, memory, mask);
      EXPECT_EQ(got.weights.masked_select(pairs.logical_not()).count_nonzero().item<int64_t>(), 0) << name;
      expect_near(got.weights.to(torch::kDouble).sum(2), filled, 1e-6, name + ", row sums");
      const torch::Tensor order = torch::randperm(S, torch::kLong);
      const AttendedMemory moved =
          attention->forward(query, memory.index_select(1, order), mask.index_select(mask.dim() - 1, order));
      expect_near(moved.context, got.context, 5e-6, name + ", permuted");
      expect_near(moved.weights, got.weights.index_select(2, order), 2e-6, name + ", permuted");
      for (const double shift : {1e4, -1e4})
        for (const bool both : {false, true}) {
          const AttendedMemory far = attention->forward(query + shift, memory + (both ? shift : 0), mask);
          expect_near(far.weights.to(torch::kDouble).sum(2), filled, 1e-6, name + ", shifted");
          EXPECT_TRUE(far.context.isfinite().all().item<bool>()) << name;
        }
    }
}

// Of the inputs. Those of the parameters are compared with PyTorch's above, or follow from a product.
TEST(GlobalAttention, gradients_agree_with_central_differences) {
  torch::manual_seed(3);
  const torch::Tensor mask = torch::rand({2, 4}) > 0.3;
  for (const AttentionScore score : kScores) {
    const GlobalAttentionOptions options = options_for(score, 3, any_widths(score) ? 2 : 3);
    GlobalAttention attention = random_attention(options);
    test::expect_gradients(
        [&](const std::vector<torch::Tensor>& in) {
          const AttendedMemory got = attention->forward(in[0], in[1], mask);
          return std::vector<torch::Tensor>{got.context, got.weights};
        },
        {torch::randn({2, 3, 3}, torch::kDouble), torch::randn({2, 4, options.key_width}, torch::kDouble)},
        fmt::format("score {}", static_cast<int>(score)));
  }
}

TEST(GlobalAttention, narrow_types_follow_double) {
  torch::manual_seed(4);
  for (const AttentionScore score : kScores)
    for (const torch::ScalarType dtype : {torch::kBFloat16, torch::kHalf}) {
      GlobalAttention narrow(options_for(score, 8));
      test::randomise(*narrow);
      narrow->to(dtype);
      const torch::Tensor query = torch::randn({2, 3, 8}).to(dtype),
                          memory = torch::randn({2, 5, 8}).to(dtype);
      const AttendedMemory got = narrow->forward(query, memory);
      const AttendedMemory expected = reference(narrow, query, memory, {});
      EXPECT_EQ(got.context.scalar_type(), dtype);
      EXPECT_EQ(got.weights.scalar_type(), torch::kFloat);
      expect_near(got.context, expected.context, dtype == torch::kHalf ? 5e-3 : 3e-2, c10::toString(dtype));
    }
}

TEST(GlobalAttention, files_its_weights_as_a_map) {
  GlobalAttention attention(options_for(AttentionScore::additive, 4));
  const MapRecorder recorder;
  const AttendedMemory got = attention->forward(torch::randn({2, 4}), torch::randn({2, 5, 4}));
  ASSERT_EQ(recorder.maps().size(), 1U);
  EXPECT_EQ(recorder.maps()[0].name, "cross");
  EXPECT_EQ(recorder.maps()[0].kind, AttentionMap::Kind::token);
  EXPECT_TRUE(torch::equal(recorder.maps()[0].values, got.weights.detach().unsqueeze(1)));
}

TEST(GlobalAttention, prints_itself_names_its_state_and_counts) {
  const auto printed = [](const GlobalAttention& attention) {
    std::ostringstream stream;
    attention->pretty_print(stream);
    return stream.str();
  };
  GlobalAttentionOptions options = options_for(AttentionScore::additive, 4, 6);
  options.width = 5;
  GlobalAttention additive(options), general(options_for(AttentionScore::general, 4, 6)),
      dot(options_for(AttentionScore::dot, 4));
  EXPECT_EQ(printed(additive),
            "gaze::GlobalAttention(score=additive, query_width=4, key_width=6, width=5, bias=true)");
  EXPECT_EQ(printed(general), "gaze::GlobalAttention(score=general, query_width=4, key_width=6)");
  EXPECT_EQ(test::keys_of(*additive), (std::vector<std::string>{"attn.weight", "attn.bias", "v.weight"}));
  EXPECT_EQ(test::keys_of(*general), (std::vector<std::string>{"general.weight"}));
  EXPECT_TRUE(test::keys_of(*dot).empty());
  // 2 queries of 4 and 3 keys of 6, width 5: 2·4·5 + 3·6·5 projected, 6·5 scored, 6·6 summed.
  EXPECT_EQ(additive->macs(2, 3), 40 + 90 + 30 + 36);
  EXPECT_EQ(general->macs(2, 3), 2 * 4 * 6 + 36 + 36);
  EXPECT_EQ(dot->macs(2, 3), 24 + 24);
}

TEST(GlobalAttention, errors_name_what_was_expected_and_what_came) {
  const auto expect_error = [](auto&& call, const std::string& text) {
    EXPECT_THROWS_WITH(call(), ArgumentError, "[global_attention] expected " + text);
  };
  expect_error([] { GlobalAttention(options_for(AttentionScore::additive, 0)); },
               "query_width >= 1; got query_width 0");
  expect_error([] { GlobalAttention(options_for(AttentionScore::general, 2, -1)); },
               "key_width >= 1; got key_width -1");
  expect_error([] { GlobalAttention(options_for(AttentionScore::dot, 4, 6)); },
               "key_width 4 like query_width for score dot; got key_width 6");
  GlobalAttentionOptions options = options_for(AttentionScore::additive, 4, 6);
  options.width = -1;
  expect_error([&] { GlobalAttention{options}; }, "width >= 1; got width -1");
  GlobalAttention attention(options_for(AttentionScore::additive, 4, 6)),
      general(options_for(AttentionScore::general, 4, 6));
  const torch::Tensor query = torch::zeros({2, 4}), memory = torch::zeros({2, 3, 6});
  expect_error([&] { attention->forward({}, memory); }, "query [B, T, query_width=4]; got query undefined");
  expect_error(
      [&] {
        attention->forward(torch::zeros({2, 5}), memory);
      },
      "query [B, query_width=4]; got query [2, 5]");
  expect_error(
      [&] {
        attention->forward(query, torch::zeros({2, 3, 4}));
      },
      "memory [B, S, key_width=6]; got memory [2, 3, 4]");
  expect_error(
      [&] {
        attention->forward(query, torch::zeros({1, 3, 6}));
      },
      "memory [B=2, S, key_width=6]; got memory [1, 3, 6]");
  expect_error([&] { attention->attend_projected(query, memory, memory); },
               "keys [B=2, S=3, width=4]; got keys [2, 3, 6]");
  expect_error(
      [&] {
        attention->forward(query, memory, torch::ones({3, 2}, torch::kBool));
      },
      "mask [B=2, S=3]; got mask [3, 2]");
  expect_error(
      [&] {
        general->forward(query, memory, torch::ones({2, 2, 3}, torch::kBool));
      },
      "mask [B=2, T=1, S=3]; got mask [2, 2, 3]");
  expect_error([&] { general->forward(query, memory, torch::ones({2, 3})); }, "mask bool; got mask Float");
  expect_error([&] { attention->forward(query, memory.to(torch::kDouble)); },
               "attn.weight Double on cpu like memory; got attn.weight Float on cpu");
  expect_error([&] { general->forward(query, memory.to(torch::kDouble)); },
               "memory Float on cpu like query; got memory Double on cpu");
  expect_error([&] { general->forward(query.to(torch::kDouble), memory.to(torch::kDouble)); },
               "general.weight Double on cpu like query; got general.weight Float on cpu");
}

}  // namespace
}  // namespace gaze
