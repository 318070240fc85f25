#include "modules/ops/attend/attend.h"

#include <ATen/ExpandUtils.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>
#include <torch/library.h>

#include <algorithm>

#include "modules/core/check.h"
#include "modules/ops/attend/attend_math.h"
#include "modules/ops/attend/attend_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace {

constexpr char kOp[] = "attend";

void check_place(const at::Tensor& x, const char* name, const at::Tensor& q) {
  if (x.device() == q.device()) return;
  check_that(false, kOp, fmt::format("{} on {} like q", name, q.device().str()),
             fmt::format("{} on {}", name, x.device().str()));
}

void check_bool(const at::Tensor& x, const char* name) {
  if (x.scalar_type() == at::kBool) return;
  check_that(false, kOp, fmt::format("{} bool", name),
             fmt::format("{} {}", name, c10::toString(x.scalar_type())));
}

void check_expandable(const at::Tensor& x, const char* name, const char* letters, at::IntArrayRef shape) {
  if (at::is_expandable_to(x.sizes(), shape)) return;
  check_that(false, kOp, fmt::format("{} broadcastable to {} = {}", name, letters, shape_text(shape)),
             fmt::format("{} {}", name, shape_text(x.sizes())));
}

void check_bias(const at::Tensor& x, const char* name, const at::Tensor& q) {
  check_floating(x, name, kOp);
  check_place(x, name, q);
}

void check_relative(const at::Tensor& relative, const at::Tensor& q) {
  check_bias(relative, "relative", q);
  check_shape(relative, "relative", {"N", "2L-1"}, kOp);
  const int64_t heads = relative.size(0), entries = relative.size(1);
  if ((heads == 1 || heads == q.size(1)) && entries % 2 == 1) return;
  check_that(false, kOp, fmt::format("relative [1 or N={}, 2L-1], an odd number of entries", q.size(1)),
             fmt::format("relative {}", shape_text(relative.sizes())));
}

// One of the two parts of a decomposed bias; returns how many rows or columns it has.
int64_t check_part(const at::Tensor& x, const char* name, const char* letters, const at::Tensor& q) {
  check_bias(x, name, q);
  check_that(x.dim() == 4, kOp, fmt::format("{} {}", name, letters),
             fmt::format("{} {}", name, shape_text(x.sizes())));
  const int64_t size = x.size(3);
  check_expandable(x, name, letters, {q.size(0), q.size(1), q.size(2), size});
  return size;
}

void check_decomposed(const detail::AttendInputs& in) {
  const bool rows = detail::is_given(in.row_bias), columns = detail::is_given(in.column_bias);
  if (!rows && !columns) return;
  check_that(rows && columns, kOp, "row_bias and column_bias together",
             rows ? "row_bias alone" : "column_bias alone");
  const int64_t height = check_part(*in.row_bias, "row_bias", "[B, N, T, rows]", in.q),
                width = check_part(*in.column_bias, "column_bias", "[B, N, T, columns]", in.q);
  if (height * width == in.k.size(2)) return;
  check_that(false, kOp, fmt::format("rows · columns = S = {}", in.k.size(2)),
             fmt::format("{} · {}", height, width));
}

void check_rows(const detail::AttendAsked& asked, int64_t queries) {
  if (asked.weights != ops::AttendWeights::rows) {
    check_that(asked.rows.empty(), kOp, "rows only with the weights of rows",
               fmt::format("{} rows", asked.rows.size()));
    return;
  }
  std::vector<bool> seen(static_cast<size_t>(queries), false);
  for (const int64_t row : asked.rows) {
    if (row < 0 || row >= queries)
      check_that(false, kOp, fmt::format("rows in 0 .. {}", queries - 1), fmt::format("row {}", row));
    if (seen[static_cast<size_t>(row)])
      check_that(false, kOp, "each of rows once", fmt::format("row {} twice", row));
    seen[static_cast<size_t>(row)] = true;
  }
}

at::Tensor given_or_empty(bool given, at::IntArrayRef shape, const at::TensorOptions& options) {
  return given ? at::empty(shape, options) : at::empty({0}, options);
}

}  // namespace

namespace detail {

double AttendRules::scale_for(int64_t width) const {
  return scale.value_or(attend_default_scale(width));
}

void check_attend(const AttendInputs& in, const AttendRules& rules, const AttendAsked& asked) {
  const auto& [q, k, v, mask, bias, key_mask, relative, row_bias, column_bias] = in;
  check_shape(q, "q", {"B", "N", "T", "D"}, kOp);
  check_floating(q, "q", kOp);
  check_that(q.size(3) > 0, kOp, "q of width D >= 1", fmt::format("q {}", shape_text(q.sizes())));
  check_shape(k, "k", {{"B", q.size(0)}, {"N", q.size(1)}, "S", {"D", q.size(3)}}, kOp);
  check_shape(v, "v", {{"B", q.size(0)}, {"N", q.size(1)}, {"S", k.size(2)}, "V"}, kOp);
  check_like(k, "k", q, "q", kOp);
  check_like(v, "v", q, "q", kOp);
  const std::array<int64_t, 4> scores{q.size(0), q.size(1), q.size(2), k.size(2)};
  if (is_given(mask)) {
    check_bool(*mask, "mask");
    check_place(*mask, "mask", q);
    check_expandable(*mask, "mask", "[B, N, T, S]", scores);
  }
  if (is_given(bias)) {
    check_bias(*bias, "bias", q);
    check_expandable(*bias, "bias", "[B, N, T, S]", scores);
  }
  if (is_given(key_mask)) {
    check_bool(*key_mask, "key_mask");
    check_place(*key_mask, "key_mask", q);
    check_shape(*key_mask, "key_mask", {{"B", scores[0]}, {"S", scores[3]}}, kOp);
  }
  if (is_given(relative)) check_relative(*relative, q);
  check_decomposed(in);
  if (!(rules.dropout >= 0 && rules.dropout < 1))
    check_that(false, kOp, "dropout in [0, 1)", fmt::format("dropout {}", rules.dropout));
  const auto which = static_cast<int64_t>(asked.weights);
  if (which < 0 || which > 3)
    check_that(false, kOp, "weights 0 (none), 1 (per head), 2 (mean over heads) or 3 (rows)",
               fmt::format("weights {}", which));
  check_rows(asked, q.size(2));
}

std::vector<int64_t> attend_weights_shape(const AttendInputs& in, const AttendAsked& asked) {
  const int64_t B = in.q.size(0), N = in.q.size(1), T = in.q.size(2), S = in.k.size(2);
  switch (asked.weights) {
    case ops::AttendWeights::per_head:
      return {B, N, T, S};
    case ops::AttendWeights::head_mean:
      return {B, T, S};
    case ops::AttendWeights::rows:
      return {B, N, static_cast<int64_t>(asked.rows.size()), S};
    default:
      return {0};
  }
}

std::vector<int64_t> attend_row_places(const AttendAsked& asked, int64_t queries) {
  std::vector<int64_t> places(static_cast<size_t>(queries), -1);
  for (size_t r = 0; r < asked.rows.size(); ++r)
    places[static_cast<size_t>(asked.rows[r])] = static_cast<int64_t>(r);
  return places;
}

AttendForward call_attend(const AttendInputs& in, const AttendRules& rules, const AttendAsked& asked) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("gaze::attend", "")
                             .typed<decltype(attend_flat<attend_composed>)>();
  return op.call(in.q, in.k, in.v, in.mask, in.bias, in.key_mask, in.relative, in.row_bias, in.column_bias,
                 rules.scale, rules.causal, rules.relative_inside, rules.dropout, rules.seed,
                 static_cast<int64_t>(asked.weights), asked.rows, asked.key_sums, asked.entropy);
}

AttendBackward call_attend_backward(const AttendInputs& in, const AttendRules& rules,
                                    const AttendAsked& asked, const at::Tensor& log_sum_exp,
                                    const AttendGrads& grads, const AttendWanted& wanted) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("gaze::attend_backward", "")
                             .typed<decltype(attend_backward_flat<attend_backward_composed>)>();
  return op.call(in.q, in.k, in.v, in.mask, in.bias, in.key_mask, in.relative, in.row_bias, in.column_bias,
                 rules.scale, rules.causal, rules.relative_inside, rules.dropout, rules.seed,
                 static_cast<int64_t>(asked.weights), asked.rows, log_sum_exp, grads.output,
                 grads.log_sum_exp, grads.weights, grads.key_sums, grads.entropy, wanted.bias,
                 wanted.relative, wanted.row_bias, wanted.column_bias);
}

}  // namespace detail

namespace {

detail::AttendForward attend_meta(const detail::AttendInputs& in, const detail::AttendRules& rules,
                                  const detail::AttendAsked& asked) {
  detail::check_attend(in, rules, asked);
  const int64_t B = in.q.size(0), N = in.q.size(1), T = in.q.size(2), S = in.k.size(2);
  const auto statistics = in.q.options().dtype(detail::statistics_dtype(in.q.scalar_type()));
  return {at::empty({B, N, T, in.v.size(3)}, in.q.options()), at::empty({B, N, T}, statistics),
          at::empty(detail::attend_weights_shape(in, asked), statistics),
          given_or_empty(asked.key_sums, {B, N, S}, statistics),
          given_or_empty(asked.entropy, {B, N, T}, statistics)};
}

detail::AttendBackward attend_backward_meta(const detail::AttendInputs& in, const detail::AttendRules&,
                                            const detail::AttendAsked&, const at::Tensor&,
                                            const detail::AttendGrads&, const detail::AttendWanted& wanted) {
  const auto like = [&](bool wants, const detail::MaybeTensor& x) {
    return wants ? at::empty(x->sizes(), x->options()) : at::empty({0}, in.q.options());
  };
  return {at::empty(in.q.sizes(), in.q.options()), at::empty(in.k.sizes(), in.k.options()),
          at::empty(in.v.sizes(), in.v.options()), like(wanted.bias, in.bias),
          like(wanted.relative, in.relative),      like(wanted.row_bias, in.row_bias),
          like(wanted.column_bias, in.column_bias)};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(gaze, library) {
  library.def(
      "attend(Tensor q, Tensor k, Tensor v, Tensor? mask=None, Tensor? bias=None, Tensor? key_mask=None,"
      " Tensor? relative=None, Tensor? row_bias=None, Tensor? column_bias=None, float? scale=None,"
      " bool causal=False, bool relative_inside=False, float dropout=0., int seed=0, int weights=0,"
      " int[] rows=[], bool key_sums=False, bool entropy=False)"
      " -> (Tensor output, Tensor log_sum_exp, Tensor weights, Tensor key_sums, Tensor entropy)");
  library.def(
      "attend_backward(Tensor q, Tensor k, Tensor v, Tensor? mask, Tensor? bias, Tensor? key_mask,"
      " Tensor? relative, Tensor? row_bias, Tensor? column_bias, float? scale, bool causal,"
      " bool relative_inside, float dropout, int seed, int weights, int[] rows, Tensor log_sum_exp,"
      " Tensor? grad_output, Tensor? grad_log_sum_exp, Tensor? grad_weights, Tensor? grad_key_sums,"
      " Tensor? grad_entropy, bool wants_bias, bool wants_relative, bool wants_row_bias,"
      " bool wants_column_bias)"
      " -> (Tensor grad_q, Tensor grad_k, Tensor grad_v, Tensor grad_bias, Tensor grad_relative,"
      " Tensor grad_row_bias, Tensor grad_column_bias)");
}

TORCH_LIBRARY_IMPL(gaze, Meta, library) {
  library.impl("attend", detail::attend_flat<attend_meta>);
  library.impl("attend_backward", detail::attend_backward_flat<attend_backward_meta>);
}

namespace ops {

Attended attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                const AttendOptions& options) {
  // The dispatcher picks a backend from q, k and v and so needs them; the rest is checked by the backend's
  // kernel.
  check_shape(q, "q", {"B", "N", "T", "D"}, kOp);
  check_shape(k, "k", {"B", "N", "S", "D"}, kOp);
  check_shape(v, "v", {"B", "N", "S", "V"}, kOp);
  detail::AttendInputs in{q,
                          k,
                          v,
                          std::nullopt,
                          detail::given(options.bias),
                          detail::given(options.key_mask),
                          detail::given(options.relative),
                          detail::given(options.row_bias),
                          detail::given(options.column_bias)};
  if (mask.defined() && mask.is_floating_point()) {
    const std::array<int64_t, 4> scores{q.size(0), q.size(1), q.size(2), k.size(2)};
    check_place(mask, "mask", q);
    check_expandable(mask, "mask", "[B, N, T, S]", scores);
    if (options.bias.defined()) check_expandable(options.bias, "bias", "[B, N, T, S]", scores);
    in.bias = options.bias.defined() ? mask + options.bias : mask;
  } else if (mask.defined()) {
    check_that(mask.scalar_type() == at::kBool, kOp, "mask bool or floating",
               fmt::format("mask {}", c10::toString(mask.scalar_type())));
    in.mask = mask;
  }
  auto [output, log_sum_exp, weights, key_sums, entropy] = detail::call_attend(
      in, {options.scale, options.causal, options.relative_inside, options.dropout, options.seed},
      {options.weights, options.rows, options.key_sums, options.entropy});
  return {output, options.weights == AttendWeights::none ? at::Tensor() : weights, log_sum_exp,
          options.key_sums ? key_sums : at::Tensor(), options.entropy ? entropy : at::Tensor()};
}

}  // namespace ops
}  // namespace gaze
