// Why softmax subtracts the largest score first. exp(89) is more than a float32 can hold, and inf / inf is
// not a number; exp(-104) is 0, and 0 / 0 is none either. softmax(x) = softmax(x - c) for any c, and with the
// largest score as c the largest exp is 1: nothing overflows, and the sum is at least 1.
#include <torch/torch.h>

#include "apps/guide/print.h"
#include "modules/ops/attend/attend.h"

namespace {

torch::Tensor naive_softmax(const torch::Tensor& x) {
  return x.exp() / x.exp().sum();
}

torch::Tensor stable_softmax(const torch::Tensor& x) {
  const torch::Tensor e = (x - x.max()).exp();
  return e / e.sum();
}

// Queries and keys of one number: with the query 1 the keys are the scores.
torch::Tensor attend_softmax(const torch::Tensor& x) {
  gaze::ops::AttendOptions options;
  options.scale = 1;
  options.weights = gaze::ops::AttendWeights::per_head;
  const torch::Tensor keys = x.view({1, 1, -1, 1});  // [B, N, S, D]
  return gaze::ops::attend(torch::ones({1, 1, 1, 1}), keys, keys, {}, options).weights.flatten();
}

}  // namespace

int main() {
  // Three scores m, m - 1, m - 2. The weights do not depend on m: e^0, e^-1, e^-2 over their sum.
  fmt::print("{:>8}{:>10}{:>25}{:>25}{:>25}\n", "m", "exp(m)", "naive", "largest subtracted",
             "gaze::ops::attend");
  for (const float m : {0.F, 50.F, 88.F, 89.F, 100.F, 1000.F, 1e4F, -200.F, -1e4F}) {
    const torch::Tensor x = torch::tensor({m, m - 1, m - 2});  // [S]
    fmt::print("{:>8}{:>10.2g}", m, x[0].exp().item<float>());
    for (const torch::Tensor& w : {naive_softmax(x), stable_softmax(x), attend_softmax(x)}) {
      fmt::print("    ");
      for (int64_t s = 0; s < 3; ++s) fmt::print("{:>7}", guide::number_text(w[s].item<float>()));
    }
    fmt::print("\n");
  }
}
