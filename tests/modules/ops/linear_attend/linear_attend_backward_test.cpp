// Gradients of linear_attend, by the kernel of each instruction set and by the composed room.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/ops/linear_attend/linear_attend.h"
#include "modules/ops/linear_attend/linear_attend_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "tests/modules/ops/linear_attend/linear_attend_reference.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/gradient_check.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

using ops::FeatureMap;
using ops::kLinearAttendMaxError;
using ops::linear_attend;
using test::expect_near;
using test::linear_attend_options;

class LinearAttendBackward : public test::OnCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, LinearAttendBackward, test::every_cpu_isa(), test::cpu_isa_of);

struct Shape {
  int64_t B, N, T, S, D, V;
};

// Fewer and more queries than keys, several chunks.
constexpr Shape kShapes[] = {
    {2, 2, 3, 4, 3, 2}, {1, 1, 5, 2, 2, 3}, {1, 1, 70, 66, 2, 1}, {1, 2, 2, 130, 1, 2}};

std::vector<at::Tensor> random_inputs(const Shape& z, double size = 1) {
  return {at::randn({z.B, z.N, z.T, z.D}, at::kDouble) * size,
          at::randn({z.B, z.N, z.S, z.D}, at::kDouble) * size, at::randn({z.B, z.N, z.S, z.V}, at::kDouble)};
}

TEST_P(LinearAttendBackward, agrees_with_central_differences) {
  torch::manual_seed(3);
  for (const Shape& z : kShapes)
    for (const FeatureMap map : test::kFeatureMaps)
      for (const bool causal : {false, true})
        for (const bool masked : {false, true}) {
          auto options = linear_attend_options(map, causal, z.D, 3);
          const at::Tensor mask = masked ? at::rand({z.B, z.S}) > 0.4 : at::Tensor();
          std::vector<at::Tensor> inputs = random_inputs(z);
          if (options.projection.defined()) inputs.push_back(options.projection);
          test::expect_gradients(
              [&](const auto& in) {
                if (in.size() > 3) options.projection = in[3];
                return std::vector<at::Tensor>{linear_attend(in[0], in[1], in[2], mask, options)};
              },
              inputs,
              fmt::format("map {}, causal {}, masked {}, T {} S {}", static_cast<int>(map), causal, masked,
                          z.T, z.S));
        }
}

// Logits so far apart that chunks end early and states are divided anew.
TEST_P(LinearAttendBackward, agrees_with_central_differences_on_large_exponents) {
  torch::manual_seed(4);
  for (const bool causal : {false, true}) {
    std::vector<at::Tensor> inputs = random_inputs({1, 1, 9, 20, 3, 2}, 40);
    inputs[1][0][0][7].add_(300);
    test::expect_gradients(
        [&](const auto& in) {
          return std::vector<at::Tensor>{detail::call_linear_attend(in[0], in[1], in[2], {}, 2, causal)};
        },
        inputs, fmt::format("causal {}", causal));
  }
}

// The composed room with its own backward, which the dispatcher hides behind the kernel here.
class Composed : public torch::autograd::Function<Composed> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& q,
                            const at::Tensor& k, const at::Tensor& v, const std::optional<at::Tensor>& mask,
                            int64_t map, bool causal) {
    context->save_for_backward({q, k, v, mask.value_or(at::Tensor())});
    context->saved_data["map"] = map;
    context->saved_data["causal"] = causal;
    return detail::linear_attend_composed(q, k, v, mask, map, causal);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto [q, k, v] = detail::linear_attend_backward_composed(
        saved[0], saved[1], saved[2], detail::given(saved[3]), grads[0], context->saved_data["map"].toInt(),
        context->saved_data["causal"].toBool());
    return {q, k, v, {}, {}, {}};
  }
};

TEST(LinearAttendComposed, agrees_with_central_differences) {
  torch::manual_seed(5);
  for (const Shape& z : kShapes)
    for (const int64_t map : {0, 1, 2})
      for (const bool causal : {false, true}) {
        const at::Tensor mask = z.B == 2 ? at::rand({z.B, z.S}) > 0.4 : at::Tensor();
        test::expect_gradients(
            [&](const auto& in) {
              return std::vector<at::Tensor>{
                  Composed::apply(in[0], in[1], in[2], detail::given(mask), map, causal)};
            },
            random_inputs(z, map == 2 ? 10 : 1),
            fmt::format("map {}, causal {}, T {} S {}", map, causal, z.T, z.S));
      }
}

TEST_P(LinearAttendBackward, of_random_cases_is_that_of_the_composed_room) {
  torch::manual_seed(6);
  for (int64_t number = 0; number < 200; ++number) {
    const auto any = test::random_case(number, at::kDouble);
    const bool random = any.options.map == FeatureMap::positive_random;
    const int64_t map = random ? 2 : static_cast<int64_t>(any.options.map);
    const at::Tensor grad =
        at::randn({any.q.size(0), any.q.size(1), any.q.size(2), any.v.size(3)}, at::kDouble);
    const at::Tensor q = random ? any.q * 10 : any.q, k = random ? any.k * 10 : any.k;
    const auto mask = detail::given(any.mask);
    const auto got = detail::call_linear_attend_backward(q, k, any.v, mask, grad, map, any.options.causal);
    const auto expected =
        detail::linear_attend_backward_composed(q, k, any.v, mask, grad, map, any.options.causal);
    expect_near(std::get<0>(got), std::get<0>(expected), 1e-11, any.text + ", q");
    expect_near(std::get<1>(got), std::get<1>(expected), 1e-11, any.text + ", k");
    expect_near(std::get<2>(got), std::get<2>(expected), 1e-11, any.text + ", v");
  }
}

class LinearAttendBackwardDtype : public test::OnDtypeAndCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, LinearAttendBackwardDtype, test::every_dtype_and_cpu_isa(),
                         test::dtype_and_cpu_isa_of);

TEST_P(LinearAttendBackwardDtype, follows_float64) {
  torch::manual_seed(7);
  for (const FeatureMap map : test::kFeatureMaps)
    for (const bool causal : {false, true}) {
      const auto options = linear_attend_options(map, causal, 8);
      std::vector<at::Tensor> narrow, wide;
      for (int i = 0; i < 3; ++i) {
        const at::Tensor x = at::randn({2, 2, 70, 8}).to(dtype());
        narrow.push_back(x.clone().requires_grad_(true));
        wide.push_back(x.to(at::kDouble).requires_grad_(true));
      }
      const at::Tensor weights = at::randn({2, 2, 70, 8}).to(dtype());
      (linear_attend(narrow[0], narrow[1], narrow[2], {}, options) * weights).sum().backward();
      (linear_attend(wide[0], wide[1], wide[2], {}, options) * weights.to(at::kDouble)).sum().backward();
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(narrow[i].grad().scalar_type(), dtype());
        expect_near(narrow[i].grad(), wide[i].grad(), kLinearAttendMaxError.of(dtype()),
                    fmt::format("map {}, causal {}, input {}", static_cast<int>(map), causal, i));
      }
    }
}

TEST_P(LinearAttendBackward, masked_keys_and_blind_queries_have_zero_gradients) {
  torch::manual_seed(8);
  for (const FeatureMap map : test::kFeatureMaps) {
    const auto options = linear_attend_options(map, true, 3);
    at::Tensor q = at::randn({1, 2, 6, 3}), k = at::randn({1, 2, 4, 3}), v = at::randn({1, 2, 4, 3});
    const at::Tensor mask = at::tensor({1, 0, 1, 0}).to(at::kBool).view({1, 4});
    k.select(2, 1).fill_(std::numeric_limits<float>::quiet_NaN());
    v.select(2, 3).fill_(std::numeric_limits<float>::infinity());
    for (at::Tensor* x : {&q, &k, &v}) x->requires_grad_(true);
    const at::Tensor output = linear_attend(q, k, v, mask, options);
    output.sum().backward();
    EXPECT_TRUE(at::isfinite(output).all().item<bool>());
    EXPECT_TRUE(at::equal(q.grad().narrow(2, 0, 2), at::zeros({1, 2, 2, 3})));
    EXPECT_TRUE(at::isfinite(q.grad()).all().item<bool>());
    EXPECT_TRUE(at::equal(v.grad().index({0, 0, at::tensor({1, 3})}), at::zeros({2, 3})));
    EXPECT_TRUE(at::equal(k.grad().index({0, 0, 3}), at::zeros({3})));
    EXPECT_TRUE(at::equal(k.grad().index({0, 0, 1}), at::zeros({3})));
  }
}

TEST_P(LinearAttendBackward, is_the_same_each_time_and_for_any_number_of_threads) {
  torch::manual_seed(9);
  const int threads = at::get_num_threads();
  for (const FeatureMap map : test::kFeatureMaps)
    for (const bool causal : {false, true}) {
      const auto options = linear_attend_options(map, causal, 16, 24);
      const at::Tensor q = at::randn({3, 5, 70, 16}).requires_grad_(true),
                       k = at::randn({3, 5, 70, 16}).requires_grad_(true);
      const auto results = [&](int count) {
        at::set_num_threads(count);
        const at::Tensor output = linear_attend(q, k, k, {}, options);
        auto grads = torch::autograd::grad({output.square().sum()}, {q, k});
        grads.push_back(output.detach());
        return grads;
      };
      const auto one = results(1), again = results(1), three = results(3);
      for (size_t i = 0; i < one.size(); ++i) {
        EXPECT_TRUE(at::equal(one[i], again[i]));
        if (map != FeatureMap::positive_random) EXPECT_TRUE(at::equal(one[i], three[i]));
      }
    }
  at::set_num_threads(threads);
}

TEST_P(LinearAttendBackward, twice_is_an_error_not_a_wrong_number) {
  const at::Tensor q = at::randn({1, 1, 2, 2}).requires_grad_(true);
  const auto first = torch::autograd::grad({linear_attend(q, q, q).sum()}, {q}, {}, true, true);
  EXPECT_THROW(torch::autograd::grad({first[0].sum()}, {q}), std::exception);
}

}  // namespace
}  // namespace gaze
