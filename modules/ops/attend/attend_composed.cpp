// attend in plain ATen calls: runs on every device that has no kernel of its own, and is what an exporter
// sees.
#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <torch/library.h>

#include <limits>

#include "modules/ops/attend/attend_math.h"
#include "modules/ops/attend/attend_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace {

using detail::AttendInputs;
using detail::AttendRules;
using detail::is_given;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// [T, S]: the entry of the relative table that each pair of query and key takes.
at::Tensor relative_entries(const AttendInputs& in) {
  const int64_t T = in.q.size(2), S = in.k.size(2), entries = in.relative->size(1);
  const auto options = in.q.options().dtype(at::kLong);
  return (at::arange(T, options).unsqueeze(1) - at::arange(S, options) + (S - T + entries / 2))
      .clamp(0, entries - 1);
}

// q and k in the statistics dtype -> [B, N, T, S], -inf where a query may not look.
at::Tensor masked_scores(const AttendInputs& in, const at::Tensor& q, const at::Tensor& k,
                         const AttendRules& rules) {
  const int64_t queries = q.size(2), keys = k.size(2);
  const double factor = rules.scale_for(q.size(3));
  const at::ScalarType dtype = q.scalar_type();
  at::Tensor scores = at::matmul(q * factor, k.transpose(2, 3));  // [B, N, T, S]
  if (is_given(in.relative)) {
    const at::Tensor biases = in.relative->to(dtype).index({at::indexing::Slice(), relative_entries(in)});
    scores = scores + (rules.relative_inside ? biases * factor : biases);  // [N, T, S]
  }
  if (is_given(in.row_bias)) {
    const at::Tensor grid =
        in.row_bias->to(dtype).unsqueeze(4) + in.column_bias->to(dtype).unsqueeze(3);  // [.., rows, columns]
    scores = scores + grid.flatten(3);
  }
  if (is_given(in.bias)) scores = scores + in.bias->to(dtype);
  if (is_given(in.mask)) scores = scores.masked_fill(in.mask->logical_not(), -kInfinity);
  if (is_given(in.key_mask))
    scores = scores.masked_fill(in.key_mask->logical_not().unsqueeze(1).unsqueeze(1), -kInfinity);
  if (rules.causal) {
    const int64_t diagonal = detail::attend_last_key(0, queries, keys);
    const at::Tensor seen = at::ones({queries, keys}, q.options().dtype(at::kBool)).tril(diagonal);  // [T, S]
    scores = scores.masked_fill(seen.logical_not(), -kInfinity);
  }
  return scores;
}

// A row without a key has -inf here; 0 instead keeps its exponentials at exp(-inf) = 0.
at::Tensor finite_or_zero(const at::Tensor& rows) {
  return rows.masked_fill(rows == -kInfinity, 0);
}

// attend_mix on int64 numbers that hold 32 bits.
at::Tensor mixed(at::Tensor x) {
  constexpr int64_t kBits = 0xffffffff;
  x = x.bitwise_xor(x.bitwise_right_shift(16)).mul(0x7feb352d).bitwise_and(kBits);
  x = x.bitwise_xor(x.bitwise_right_shift(15)).mul(0x846ca68b).bitwise_and(kBits);
  return x.bitwise_xor(x.bitwise_right_shift(16));
}

// [B, N, T, S]: 1/(1 - dropout) for weights that are kept, 0 for the others.
at::Tensor dropout_factors(const AttendInputs& in, const AttendRules& rules, at::ScalarType dtype) {
  const int64_t B = in.q.size(0), N = in.q.size(1), T = in.q.size(2), S = in.k.size(2), rows = B * N * T;
  std::vector<int64_t> first(static_cast<size_t>(rows)), second(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    const detail::AttendRowKey key = detail::attend_row_key(rules.seed, row);
    first[static_cast<size_t>(row)] = key.first;
    second[static_cast<size_t>(row)] = key.second;
  }
  const auto options = in.q.options().dtype(at::kLong);
  const auto column = [&](const std::vector<int64_t>& keys) {
    return at::tensor(keys, at::kLong).to(options.device()).view({rows, 1});
  };
  const at::Tensor inner = mixed(at::arange(S, options).bitwise_xor(column(first)));
  const at::Tensor draws = mixed((inner + column(second)).bitwise_and(0xffffffff));
  return draws.ge(static_cast<int64_t>(detail::attend_dropout_threshold(rules.dropout)))
      .view({B, N, T, S})
      .to(dtype)
      .div(1 - rules.dropout);
}

at::Tensor no_elements(const at::Tensor& like) {
  return at::empty({0}, like.options());
}

}  // namespace

namespace detail {

AttendForward attend_composed(const AttendInputs& in, const AttendRules& rules, const AttendAsked& asked) {
  check_attend(in, rules, asked);
  const at::ScalarType dtype = statistics_dtype(in.q.scalar_type());
  const at::Tensor scores = masked_scores(in, in.q.to(dtype), in.k.to(dtype), rules);  // [B, N, T, S]
  at::Tensor log_sum_exp =
      in.k.size(2) == 0 ? at::full({in.q.size(0), in.q.size(1), in.q.size(2)}, -kInfinity, scores.options())
                        : at::Tensor();
  at::Tensor probabilities = scores;
  if (in.k.size(2) > 0) {
    const at::Tensor largest = finite_or_zero(scores.amax(3, true));  // [B, N, T, 1]
    probabilities = (scores - largest).exp_();
    const at::Tensor sum = probabilities.sum(3, true);  // [B, N, T, 1]
    log_sum_exp = (sum.log() + largest).squeeze(3);     // [B, N, T]
    probabilities.div_(sum.masked_fill(sum == 0, 1));
  }
  const at::Tensor kept =
      rules.dropout > 0 ? probabilities * dropout_factors(in, rules, dtype) : probabilities;
  const at::Tensor output = at::matmul(kept, in.v.to(dtype)).to(in.q.scalar_type());  // [B, N, T, V]
  at::Tensor weights = no_elements(scores), key_sums = weights, entropy = weights;
  if (asked.weights == ops::AttendWeights::per_head) weights = probabilities;
  if (asked.weights == ops::AttendWeights::head_mean) weights = probabilities.mean(1);  // [B, T, S]
  if (asked.weights == ops::AttendWeights::rows)
    weights =
        probabilities.index_select(2, at::tensor(asked.rows, at::kLong).to(in.q.device()));  // [B, N, R, S]
  if (asked.key_sums) key_sums = probabilities.sum(2);                                       // [B, N, S]
  if (asked.entropy) {
    const at::Tensor logs =
        (scores - finite_or_zero(log_sum_exp).unsqueeze(3)).masked_fill(probabilities == 0, 0);
    entropy = -(probabilities * logs).sum(3);  // [B, N, T]
  }
  return {output, log_sum_exp, weights, key_sums, entropy};
}

// With P the weights, M the dropout's factors and
//   dP = M ⊙ dO·vᵀ + what the weights, key sums and the entropy (-log P · dH) add:
// dS = P ⊙ (dP − rowsum(dP ⊙ P) + dL), L the log-sum-exp; dq = scale·dS·k,  dk = scale·dSᵀ·q,
// dv = (M ⊙ P)ᵀ·dO; a bias has the sum of dS over what it is shared by.
AttendBackward attend_backward_composed(const AttendInputs& in, const AttendRules& rules,
                                        const AttendAsked& asked, const at::Tensor& log_sum_exp,
                                        const AttendGrads& grads, const AttendWanted& wanted) {
  const at::ScalarType dtype = statistics_dtype(in.q.scalar_type());
  const double factor = rules.scale_for(in.q.size(3));
  const at::Tensor q = in.q.to(dtype), k = in.k.to(dtype), v = in.v.to(dtype);
  const at::Tensor logs =
      masked_scores(in, q, k, rules) - finite_or_zero(log_sum_exp).unsqueeze(3);  // [B, N, T, S]
  const at::Tensor probabilities = logs.exp();
  at::Tensor grad_probabilities = at::zeros_like(probabilities);  // [B, N, T, S]
  at::Tensor grad_v = at::zeros(v.sizes(), v.options());
  if (is_given(grads.output)) {
    const at::Tensor grad_output = grads.output->to(dtype);
    const at::Tensor factors = rules.dropout > 0 ? dropout_factors(in, rules, dtype) : at::Tensor();
    grad_probabilities = at::matmul(grad_output, v.transpose(2, 3));
    if (factors.defined()) grad_probabilities.mul_(factors);
    const at::Tensor kept = factors.defined() ? probabilities * factors : probabilities;
    grad_v = at::matmul(kept.transpose(2, 3), grad_output);  // [B, N, S, V]
  }
  if (is_given(grads.weights)) {
    const at::Tensor grad = grads.weights->to(dtype);
    if (asked.weights == ops::AttendWeights::head_mean) {  // [B, T, S]: each head has an equal share
      grad_probabilities.add_(grad.unsqueeze(1) / static_cast<double>(q.size(1)));
    } else if (asked.weights == ops::AttendWeights::rows) {
      grad_probabilities.index_add_(2, at::tensor(asked.rows, at::kLong).to(q.device()), grad);
    } else {
      grad_probabilities.add_(grad);
    }
  }
  if (is_given(grads.key_sums)) grad_probabilities.add_(grads.key_sums->to(dtype).unsqueeze(2));
  if (is_given(grads.entropy))
    grad_probabilities.sub_(logs.masked_fill(probabilities == 0, 0) * grads.entropy->to(dtype).unsqueeze(3));
  at::Tensor row = (grad_probabilities * probabilities).sum(3, true);  // [B, N, T, 1]
  if (is_given(grads.log_sum_exp)) row = row - grads.log_sum_exp->to(dtype).unsqueeze(3);
  const at::Tensor grad_scores = grad_probabilities.sub_(row).mul_(probabilities);    // [B, N, T, S]
  const at::Tensor grad_q = at::matmul(grad_scores, k).mul_(factor);                  // [B, N, T, D]
  const at::Tensor grad_k = at::matmul(grad_scores.transpose(2, 3), q).mul_(factor);  // [B, N, S, D]

  const auto summed = [](const at::Tensor& grad, const at::Tensor& like) {
    return at::sum_to(grad, like.sizes()).to(like.scalar_type());
  };
  at::Tensor grad_bias = no_elements(q), grad_relative = grad_bias, grad_row = grad_bias,
             grad_column = grad_bias;
  if (wanted.bias) grad_bias = summed(grad_scores, *in.bias);
  if (wanted.relative) {
    const at::Tensor of_heads = in.relative->size(0) == 1
                                    ? grad_scores.sum(at::IntArrayRef{0, 1}).unsqueeze(0)
                                    : grad_scores.sum(0);  // [N or 1, T, S]
    grad_relative = at::zeros(in.relative->sizes(), q.options())
                        .index_add_(1, relative_entries(in).flatten(), of_heads.flatten(1))
                        .mul_(rules.relative_inside ? factor : 1.0)
                        .to(in.relative->scalar_type());
  }
  if (wanted.row_bias || wanted.column_bias) {
    const at::Tensor grid = grad_scores.unflatten(3, {in.row_bias->size(3), in.column_bias->size(3)});
    if (wanted.row_bias) grad_row = summed(grid.sum(4), *in.row_bias);
    if (wanted.column_bias) grad_column = summed(grid.sum(3), *in.column_bias);
  }
  return {grad_q.to(in.q.scalar_type()),
          grad_k.to(in.k.scalar_type()),
          grad_v.to(in.v.scalar_type()),
          grad_bias,
          grad_relative,
          grad_row,
          grad_column};
}

}  // namespace detail

TORCH_LIBRARY_IMPL(gaze, CompositeExplicitAutograd, library) {
  library.impl("attend", detail::attend_flat<detail::attend_composed>);
  library.impl("attend_backward", detail::attend_backward_flat<detail::attend_backward_composed>);
}

}  // namespace gaze
