// What must hold for any window, on random ones.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <random>

#include "modules/ops/attend/attend.h"
#include "tests/modules/ops/window_attend/window_attend_reference.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

using ops::AttendWeights;
using ops::kWindowAttendMaxError;
using ops::Window;
using ops::WindowAttended;
using test::expect_near;
using test::WindowCase;

constexpr int kCases = 200;

class Random {
 public:
  int64_t from(int64_t least, int64_t most) { return std::uniform_int_distribution(least, most)(engine_); }

  // Of an axis of `length` >= 1.
  Window window(int64_t length) {
    const int64_t dilation = from(1, std::min<int64_t>(length, 4));
    if (from(0, 1) == 0) return Window::banded(from(0, length), from(0, length), dilation);
    const int64_t size = from(1, length / dilation), before = from(0, size - 1);
    return {before, size - 1 - before, dilation, ops::WindowBorders::shifted};
  }

  WindowCase any() {
    WindowCase each{from(1, 2), from(1, 3), 0, from(1, 40), from(1, 70), from(1, 70), {}};
    if (from(0, 1) == 0) {
      each.H = from(1, 9);
      each.W = from(1, 9);
      each.windows.push_back(window(each.H));
    }
    each.windows.push_back(window(each.W));
    return each;
  }

 private:
  std::mt19937_64 engine_{20221};
};

struct Inputs {
  at::Tensor q, k, v;

  explicit Inputs(const WindowCase& each)
      : q(at::randn(each.shape(each.D))),
        k(at::randn(each.shape(each.D))),
        v(at::randn(each.shape(each.V))) {}
};

TEST(WindowAttendProperty, agrees_with_the_float64_loop) {
  torch::manual_seed(1);
  Random random;
  for (int i = 0; i < kCases; ++i) {
    const WindowCase each = random.any();
    const Inputs in(each);
    const WindowAttended got = ops::window_attend(in.q, in.k, in.v, each.options(AttendWeights::per_head));
    const WindowAttended expected = test::window_attend_reference(in.q, in.k, in.v, each.windows);
    expect_near(got.output, expected.output, kWindowAttendMaxError.float32, each.text());
    expect_near(got.weights, expected.weights, kWindowAttendMaxError.float32, each.text());
  }
}

// A key shifted by any vector moves each of a query's scores by the same number.
TEST(WindowAttendProperty, a_constant_added_to_all_scores_changes_nothing) {
  torch::manual_seed(2);
  Random random;
  for (int i = 0; i < kCases; ++i) {
    const WindowCase each = random.any();
    const Inputs in(each);
    const at::Tensor q = in.q.to(at::kDouble), k = in.k.to(at::kDouble), v = in.v.to(at::kDouble);
    const at::Tensor shift = at::randn({each.D}, at::kDouble) * 10;
    const auto options = each.options(AttendWeights::per_head);
    const WindowAttended got = ops::window_attend(q, k + shift, v, options);
    const WindowAttended expected = ops::window_attend(q, k, v, options);
    expect_near(got.output, expected.output, 1e-11, each.text());
    expect_near(got.weights, expected.weights, 1e-11, each.text());
    expect_near(got.log_sum_exp, expected.log_sum_exp + at::matmul(q, shift) / std::sqrt(double(each.D)),
                1e-12, each.text());
  }
}

// A clipped window that reaches from any query to any key, and a shifted one of the axis' size.
TEST(WindowAttendProperty, a_window_over_everything_is_attend) {
  torch::manual_seed(3);
  Random random;
  for (int i = 0; i < kCases; ++i) {
    WindowCase each = random.any();
    const auto whole = [&](int64_t length) {
      return i % 2 == 0 ? Window::neighborhood(length) : Window::local(length - 1 + random.from(0, 3));
    };
    each.windows.clear();
    if (each.H > 0) each.windows.push_back(whole(each.H));
    each.windows.push_back(whole(each.W));
    const Inputs in(each);
    const auto flat = [&](const at::Tensor& x) { return x.reshape({each.B, each.N, -1, x.size(-1)}); };
    const at::Tensor expected = ops::attend(flat(in.q), flat(in.k), flat(in.v)).output;
    const at::Tensor got = ops::window_attend(in.q, in.k, in.v, each.options()).output;
    expect_near(flat(got), expected, 2 * kWindowAttendMaxError.float32, each.text());
  }
}

// The positions r, r + dilation ... of a sequence, taken out, are a sequence under a window without dilation.
TEST(WindowAttendProperty, dilation_groups_are_independent) {
  torch::manual_seed(4);
  Random random;
  for (int i = 0; i < kCases; ++i) {
    WindowCase each = random.any();
    each.H = 0;
    each.windows = {random.window(each.W)};
    const Inputs in(each);
    const at::Tensor all = ops::window_attend(in.q, in.k, in.v, each.options()).output;
    WindowCase dense = each;
    dense.windows[0].dilation = 1;
    for (int64_t r = 0; r < each.windows[0].dilation; ++r) {
      const auto group = [&](const at::Tensor& x) { return x.slice(2, r, each.W, each.windows[0].dilation); };
      const at::Tensor alone =
          ops::window_attend(group(in.q), group(in.k), group(in.v), dense.options()).output;
      EXPECT_TRUE(at::equal(alone, group(all))) << each.text() << ", group " << r;
    }
  }
}

// A map turned on its side, with its windows.
TEST(WindowAttendProperty, rows_and_columns_are_alike) {
  torch::manual_seed(5);
  Random random;
  for (int i = 0; i < kCases; ++i) {
    WindowCase each = random.any();
    if (each.H == 0) continue;
    const Inputs in(each);
    const auto turn = [](const at::Tensor& x) { return x.transpose(2, 3); };
    const WindowAttended got = ops::window_attend(in.q, in.k, in.v, each.options());
    std::swap(each.windows[0], each.windows[1]);
    const WindowAttended turned = ops::window_attend(turn(in.q), turn(in.k), turn(in.v), each.options());
    expect_near(turn(turned.output), got.output, kWindowAttendMaxError.float32, each.text());
  }
}

}  // namespace
}  // namespace gaze
