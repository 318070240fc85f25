#include "modules/ops/additive_attend/additive_attend.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/core/error.h"
#include "modules/ops/additive_attend/additive_attend_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "tests/modules/ops/additive_attend/additive_attend_reference.h"
#include "tests/support/counted_memory.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

using ops::AdditiveAttended;
using ops::kAdditiveAttendMaxError;
using test::additive_reference;
using test::AdditiveShape;
using test::AdditiveTensors;
using test::expect_near;

AdditiveAttended attend(const AdditiveTensors& in, const at::Tensor& mask = {}) {
  return ops::additive_attend(in.query, in.key, in.v, in.values, mask);
}

class AdditiveAttend : public test::OnCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, AdditiveAttend, test::every_cpu_isa(), test::cpu_isa_of);

// tanh(artanh(y)) = y: two keys score ln 4 · 1/2 and 0, a third ln 4 · -1/2, so their weights are as 2 : 1 :
// 1/2.
TEST_P(AdditiveAttend, known_numbers) {
  const auto options = at::TensorOptions(at::kDouble);
  const at::Tensor query = at::full({1, 1, 2}, 0.25, options);
  const double half = std::atanh(0.5);
  const at::Tensor key = at::tensor({half - 0.25, -0.25, -0.25, -0.25, -half - 0.25, -0.25}, options);
  const at::Tensor v = at::tensor({std::log(4.0), 7.0}, options);
  const at::Tensor values = at::tensor({7.0, 0.0, 0.0, 7.0, 14.0, 7.0}, options).view({1, 3, 2});
  const AdditiveAttended got = ops::additive_attend(query, key.view({1, 3, 2}), v, values);
  expect_near(got.weights.flatten(), at::tensor({4 / 7.0, 2 / 7.0, 1 / 7.0}, options), 1e-14, "weights");
  expect_near(got.context.flatten(), at::tensor({6.0, 3.0}, options), 1e-14, "context");
}

// Of one key the log-sum-exp is its score, here a tanh alone.
at::Tensor tanh_of(const at::Tensor& query, double key) {
  const at::Tensor one = at::ones({1}, query.options());
  const at::Tensor zero = at::zeros({1, 1, 1}, query.options());
  return std::get<2>(
             detail::call_additive_attend(query.view({1, -1, 1}), at::full_like(zero, key), one, zero, {}))
      .flatten();
}

TEST_P(AdditiveAttend, tanh_keeps_its_stated_error) {
  // Small numbers are taken apart into exponentials: an absolute error.
  const at::Tensor x = at::linspace(-20, 20, 40001, at::kDouble).to(at::kFloat);
  EXPECT_LE((tanh_of(x, 0).to(at::kDouble) - x.to(at::kDouble).tanh()).abs().max().item<double>(), 4e-7);
  const at::Tensor wide = at::linspace(-20, 20, 4001, at::kDouble);
  EXPECT_LE((tanh_of(wide, 0.5) - (wide + 0.5).tanh()).abs().max().item<double>(), 2e-15);
  // Beside a large one all is taken as it is, within 3 units in the last place. Queries come 32 at a time.
  const at::Tensor sizes =
      at::cat({at::pow(10, at::linspace(-38, 1.5, 5000, at::kDouble)),
               at::linspace(0.5, 0.75, 5000, at::kDouble), at::linspace(0.75, 9.5, 5200, at::kDouble)});
  const at::Tensor either = at::cat({sizes, sizes.neg()}).to(at::kFloat).view({-1, 16});
  const at::Tensor beside =
      at::cat({either, at::full_like(either, 100)}, 1).flatten();  // 16 numbers, 16 large ones
  const at::Tensor got = tanh_of(beside, 0).view({-1, 32}).slice(1, 0, 16).to(at::kDouble);
  const at::Tensor expected = either.to(at::kDouble).tanh();
  EXPECT_LE(((got - expected) / expected).abs().max().item<double>(), 3 * 0x1p-23);
}

TEST_P(AdditiveAttend, tanh_of_what_is_no_number_or_none_at_all) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const at::Tensor got = tanh_of(at::tensor({infinity, -infinity, 1e30F, -1e30F, 0.0F, -0.0F, 10.0F}), 0);
  EXPECT_TRUE(at::equal(got, at::tensor({1.0F, -1.0F, 1.0F, -1.0F, 0.0F, 0.0F, 1.0F})));
  EXPECT_TRUE(tanh_of(at::tensor({std::nanf("")}), 0).isnan().item<bool>());
  EXPECT_TRUE(tanh_of(at::tensor({infinity}), -infinity).isnan().item<bool>());
}

class AdditiveAttendReference : public test::OnDtypeAndCpuIsa {
 protected:
  void expect_reference(const AdditiveTensors& in, const at::Tensor& mask, const std::string& context) {
    const double bound = kAdditiveAttendMaxError.of(dtype());
    const AdditiveAttended got = attend(in, mask), expected = additive_reference(in, mask);
    EXPECT_EQ(got.context.scalar_type(), dtype());
    EXPECT_EQ(got.weights.scalar_type(), dtype() == at::kDouble ? at::kDouble : at::kFloat);
    expect_near(got.context, expected.context, bound, context);
    expect_near(got.weights, expected.weights, bound, context);
    EXPECT_TRUE(at::equal(got.weights == 0, expected.weights == 0)) << context;
    worst_ = std::max({worst_, test::relative_error(got.context, expected.context),
                       test::relative_error(got.weights, expected.weights)});
    const auto [composed, composed_weights, composed_log_sum_exp] =
        detail::additive_attend_composed(in.query, in.key, in.v, in.values, detail::given(mask));
    EXPECT_EQ(composed.scalar_type(), dtype());
    expect_near(composed, expected.context, bound, context + ", composed");
    expect_near(composed_weights, expected.weights, bound, context + ", composed");
    const auto log_sum_exp =
        std::get<2>(detail::call_additive_attend(in.query, in.key, in.v, in.values, detail::given(mask)));
    const at::Tensor empty_rows = at::isinf(composed_log_sum_exp);
    EXPECT_TRUE(at::equal(at::isinf(log_sum_exp), empty_rows)) << context;
    expect_near(log_sum_exp.masked_fill(empty_rows, 0), composed_log_sum_exp.masked_fill(empty_rows, 0),
                bound, context);
  }

  double worst_ = 0;
};
INSTANTIATE_TEST_SUITE_P(, AdditiveAttendReference, test::every_dtype_and_cpu_isa(),
                         test::dtype_and_cpu_isa_of);

TEST_P(AdditiveAttendReference, agrees_over_awkward_shapes_and_masks) {
  torch::manual_seed(1);
  for (const AdditiveShape& z : test::additive_shapes())
    for (const test::AdditiveSizes& sizes : test::additive_sizes())
      for (const auto& [name, mask] : test::additive_masks(z))
        expect_reference(test::additive_tensors(z, sizes).to(dtype()), mask,
                         fmt::format("{}, {}, {}", name, z.text(), sizes.text()));
  RecordProperty("largest_error", fmt::format("{}", worst_));
}

TEST_P(AdditiveAttendReference, agrees_on_views) {
  torch::manual_seed(2);
  AdditiveTensors in;
  in.query = at::randn({2, 7, 5}).to(dtype()).transpose(1, 2);                        // [2, 5, 7]
  in.key = at::randn({1, 6, 14}).to(dtype()).slice(2, 0, 14, 2).expand({2, 6, 7});    // [2, 6, 7]
  in.v = at::randn({14}).to(dtype()).slice(0, 0, 14, 2);                              // [7]
  in.values = at::randn({2, 12, 20}).to(dtype()).slice(1, 0, 12, 2).slice(2, 1, 18);  // [2, 6, 17]
  const at::Tensor mask = (at::rand({2, 6, 5}) > 0.4).transpose(1, 2);                // [2, 5, 6]
  expect_reference(in, mask, "views");
  expect_reference(in, (at::rand({6, 2}) > 0.4).t(), "views, padding");
}

TEST_P(AdditiveAttend, random_cases_keep_what_attention_promises) {
  torch::manual_seed(3);
  for (int64_t i = 0; i < 200; ++i) {
    const auto between = [](int64_t least, int64_t most) {
      return torch::randint(least, most + 1, {1}).item<int64_t>();
    };
    const AdditiveShape z{between(1, 3), between(1, 40), between(1, 70), between(1, 140), between(1, 40)};
    const AdditiveTensors in = test::additive_tensors(z, test::additive_sizes()[i / 2 % 4]);
    const at::Tensor mask = i % 2 == 0 ? at::rand({z.B, z.S}) > 0.4 : at::rand({z.B, z.T, z.S}) > 0.4;
    const at::Tensor pairs = mask.dim() == 3 ? mask : mask.unsqueeze(1).expand({z.B, z.T, z.S});
    const std::string name = fmt::format("case {}, {}", i, z.text());
    const AdditiveAttended got = attend(in, mask);
    EXPECT_EQ(got.weights.masked_select(pairs.logical_not()).count_nonzero().item<int64_t>(), 0) << name;
    const at::Tensor filled = pairs.any(2).to(at::kDouble);  // [B, T]
    expect_near(got.weights.to(at::kDouble).sum(2), filled, 1e-6, name + ", row sums");
    EXPECT_TRUE(at::equal(got.context.masked_select(pairs.any(2).logical_not().unsqueeze(2)),
                          at::zeros({pairs.any(2).logical_not().sum().item<int64_t>() * z.V})))
        << name;

    // Permuting keys, values and mask together permutes the weights.
    const at::Tensor order = torch::randperm(z.S, at::kLong);
    const AdditiveTensors moved{in.query, in.key.index_select(1, order), in.v,
                                in.values.index_select(1, order)};
    const AdditiveAttended again = attend(moved, mask.index_select(mask.dim() - 1, order));
    expect_near(again.weights, got.weights.index_select(2, order), 2e-6, name + ", permuted");
    expect_near(again.context, got.context, 5e-6, name + ", permuted");

    // Far from 0 tanh is 1: every seen key weighs the same, and nothing is NaN.
    const at::Tensor seen = pairs.to(at::kFloat);
    const at::Tensor equal = seen / seen.sum(2, true).clamp_min(1);
    for (const double shift : {1e4, -1e4}) {
      for (const AdditiveTensors& shifted : {AdditiveTensors{in.query + shift, in.key, in.v, in.values},
                                             AdditiveTensors{in.query, in.key + shift, in.v, in.values}})
        expect_near(attend(shifted, mask).weights, equal, 1e-6, fmt::format("{}, shift {}", name, shift));
      // Shifts that cancel leave numbers rounded at 1e4: no NaN, and still weights.
      const AdditiveAttended cancelled = attend({in.query + shift, in.key - shift, in.v, in.values}, mask);
      expect_near(cancelled.weights.to(at::kDouble).sum(2), filled, 1e-6, name + ", shifts that cancel");
    }
    const AdditiveAttended steep = attend({in.query, in.key, in.v * 1e4, in.values}, mask);
    expect_near(steep.weights.to(at::kDouble).sum(2), filled, 1e-6, name + ", steep scores");
    EXPECT_TRUE(steep.context.isfinite().all().item<bool>()) << name;
  }
}

TEST_P(AdditiveAttend, half_is_summed_in_float) {
  // 4096 equal weights of 1/4096 times 1: a sum in float16 would stop growing at 0.5.
  const auto half = at::TensorOptions(at::kHalf);
  const at::Tensor query = at::zeros({1, 1, 1}, half), key = at::ones({1, 4096, 1}, half);
  EXPECT_EQ(ops::additive_attend(query, key, at::ones({1}, half), key).context.item<float>(), 1.0F);
}

TEST(AdditiveAttendMemory, does_not_hold_all_pairs_of_all_columns) {
  const AdditiveTensors in = test::additive_tensors({32, 20, 196, 512, 512});
  const int64_t limit = int64_t{4} << 20;  // the tanh of all pairs would be 257 MB
  AdditiveAttended got;
  {
    const test::CountedMemory memory;
    got = attend(in);
    EXPECT_LE(memory.peak() - static_cast<int64_t>(got.context.nbytes() + got.weights.nbytes()), limit);
    RecordProperty("forward", fmt::format("{}", memory.peak() - got.context.nbytes() - got.weights.nbytes()));
  }
  const at::Tensor log_sum_exp =
      std::get<2>(detail::call_additive_attend(in.query, in.key, in.v, in.values, {}));
  const test::CountedMemory memory;
  const auto [of_query, of_key, of_v, of_values] = detail::call_additive_attend_backward(
      in.query, in.key, in.v, in.values, {}, log_sum_exp, got.context, got.weights);
  const auto results =
      static_cast<int64_t>(of_query.nbytes() + of_key.nbytes() + of_v.nbytes() + of_values.nbytes());
  EXPECT_GE(memory.peak(), results);
  EXPECT_LE(memory.peak() - results, limit);
  RecordProperty("backward", fmt::format("{}", memory.peak() - results));
}

TEST(AdditiveAttendDispatcher, is_called_by_name) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("gaze::additive_attend", "");
  const AdditiveTensors in = test::additive_tensors({2, 3, 5, 4, 2});
  torch::jit::Stack stack{in.query, in.key, in.v, in.values, c10::IValue()};
  op.callBoxed(&stack);
  ASSERT_EQ(stack.size(), 3U);
  const AdditiveAttended expected = additive_reference(in, {});
  expect_near(stack[0].toTensor(), expected.context, kAdditiveAttendMaxError.float32, "context");
  expect_near(stack[1].toTensor(), expected.weights, kAdditiveAttendMaxError.float32, "weights");
  const at::Tensor scores = at::matmul((in.query.unsqueeze(2) + in.key.unsqueeze(1)).tanh(), in.v);
  expect_near(stack[2].toTensor(), scores.logsumexp(2), 2e-6, "natural log-sum-exp");
}

TEST(AdditiveAttendDispatcher, meta_tensors_give_shapes) {
  const auto meta = at::TensorOptions(at::kMeta).dtype(at::kHalf);
  const AdditiveTensors in{at::empty({2, 4, 5}, meta), at::empty({2, 6, 5}, meta), at::empty({5}, meta),
                           at::empty({2, 6, 7}, meta)};
  const AdditiveAttended got = attend(in);
  EXPECT_EQ(got.context.sizes(), at::IntArrayRef({2, 4, 7}));
  EXPECT_EQ(got.weights.sizes(), at::IntArrayRef({2, 4, 6}));
  EXPECT_EQ(got.context.scalar_type(), at::kHalf);
  EXPECT_EQ(got.weights.scalar_type(), at::kFloat);
  EXPECT_TRUE(got.context.is_meta());
  const auto [of_query, of_key, of_v, of_values] = detail::call_additive_attend_backward(
      in.query, in.key, in.v, in.values, {}, at::empty({2, 4}, meta), got.context, {});
  EXPECT_EQ(of_query.sizes(), in.query.sizes());
  EXPECT_EQ(of_key.sizes(), in.key.sizes());
  EXPECT_EQ(of_v.sizes(), in.v.sizes());
  EXPECT_EQ(of_values.sizes(), in.values.sizes());
}

TEST(AdditiveAttendDispatcher, runs_in_inference_mode) {
  const c10::InferenceMode guard;
  const at::Tensor x = at::randn({1, 2, 2});
  EXPECT_EQ(ops::additive_attend(x, x, at::ones({2}), x).context.sizes(), x.sizes());
}

TEST(AdditiveAttendErrors, name_what_was_expected_and_what_came) {
  const auto zeros = [](at::IntArrayRef shape) { return at::zeros(shape); };
  const at::Tensor query = zeros({2, 4, 5}), key = zeros({2, 6, 5}), v = zeros({5}),
                   values = zeros({2, 6, 7});
  const auto expect_error = [](const AdditiveTensors& in, const at::Tensor& mask, const std::string& text) {
    EXPECT_THROWS_WITH(attend(in, mask), ArgumentError, "[additive_attend] expected " + text);
  };
  expect_error({{}, key, v, values}, {}, "query [B, T, D]; got query undefined");
  expect_error({query, {}, v, values}, {}, "key [B, S, D]; got key undefined");
  expect_error({query, key, {}, values}, {}, "v [D]; got v undefined");
  expect_error({query, key, v, {}}, {}, "values [B, S, V]; got values undefined");
  expect_error({zeros({4, 5}), key, v, values}, {}, "query [B, T, D]; got query [4, 5]");
  expect_error({zeros({2, 4, 0}), zeros({2, 6, 0}), zeros({0}), values}, {},
               "query of width D >= 1; got query [2, 4, 0]");
  expect_error({query, zeros({2, 6, 4}), v, values}, {}, "key [B=2, S, D=5]; got key [2, 6, 4]");
  expect_error({query, key, zeros({4}), values}, {}, "v [D=5]; got v [4]");
  expect_error({query, key, v, zeros({2, 5, 7})}, {}, "values [B=2, S=6, V]; got values [2, 5, 7]");
  expect_error({query.to(at::kLong), key, v, values}, {},
               "query float64, float32, bfloat16 or float16; got query Long");
  expect_error({query, key.to(at::kDouble), v, values}, {},
               "key Float on cpu like query; got key Double on cpu");
  expect_error({query, key, v.to(at::kHalf), values}, {}, "v Float on cpu like query; got v Half on cpu");
  expect_error({query, key, v, values.to(at::kHalf)}, {},
               "values Float on cpu like query; got values Half on cpu");
  const auto boolean = at::TensorOptions(at::kBool);
  expect_error({query, key, v, values}, at::ones({4, 6}, boolean),
               "mask [B=2, S=6] or [B=2, T=4, S=6]; got mask [4, 6]");
  expect_error({query, key, v, values}, at::ones({2, 6}), "mask bool; got mask Float");
  expect_error({query, key, v, values}, at::empty({2, 6}, boolean.device(at::kMeta)),
               "mask on cpu like query; got mask on meta");
}

}  // namespace
}  // namespace gaze
