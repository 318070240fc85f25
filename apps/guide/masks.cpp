// Who may look where. Padding is left out for every query (key_mask), the future for each query apart
// (causal). Both leave weights that are exactly 0, and the others share the whole of 1.
#include <torch/torch.h>

#include <limits>

#include "apps/guide/print.h"
#include "modules/ops/attend/attend.h"

using gaze::ops::AttendOptions;
using guide::print_row;

int main() {
  const torch::Tensor q = torch::ones({1, 1, 4, 1});                               // [B, N, T, D]
  const torch::Tensor k = torch::tensor({2.F, 1.F, 0.F, 3.F}).view({1, 1, 4, 1});  // the scores of each query
  const torch::Tensor v = torch::tensor({10.F, 20.F, 30.F, 999.F}).view({1, 1, 4, 1});
  const auto show = [&](const std::string& what, const AttendOptions& asked, const torch::Tensor& queries) {
    AttendOptions options = asked;
    options.weights = gaze::ops::AttendWeights::per_head;
    const gaze::ops::Attended attended = gaze::ops::attend(queries, k, v, {}, options);
    for (int64_t t = 0; t < queries.size(2); ++t) {
      const torch::Tensor row = torch::cat({attended.weights[0][0][t], attended.output[0][0][t]});  // [S + 1]
      print_row(fmt::format(fmt::runtime(what), t + 1), row);
    }
  };
  guide::print_head("", {"key 1", "key 2", "key 3", "key 4", "output"});
  print_row("values", v);
  show("no mask", {}, q.slice(2, 0, 1));

  AttendOptions padding, causal, nobody;
  padding.key_mask = torch::tensor({1, 1, 1, 0}).to(torch::kBool).view({1, 4});  // [B, S], true: may be seen
  show("key 4 is padding", padding, q.slice(2, 0, 1));
  causal.causal = true;
  show("causal, query {}", causal, q);
  // With a cache of keys only the newest query is left; it is the last one, not the first.
  show("causal, newest query", causal, q.slice(2, 3, 4));

  // A query that may look nowhere. With the usual -1e9 in place of each score all keys are equal again: the
  // forbidden ones come back with 1/4 each. -inf gives 0/0. gaze gives zeros.
  const torch::Tensor hidden = torch::zeros({1, 4}).to(torch::kBool);
  for (const double fill : {-1e9, -std::numeric_limits<double>::infinity()}) {
    const torch::Tensor weights = k.view({1, 4}).masked_fill(~hidden, fill).softmax(-1);  // [1, S]
    print_row(fmt::format("all masked, with {:.0e}", fill),
              torch::cat({weights, weights.mm(v.view({4, 1}))}, 1));
  }
  nobody.key_mask = hidden;
  show("all masked, gaze", nobody, q.slice(2, 0, 1));

  // Padding may hold anything finite: 0 times it is 0. (0 * nan is nan, so don't leave it uninitialised.)
  v[0][0][3] = -1e30;
  show("padding holds -1e30", padding, q.slice(2, 0, 1));
}
