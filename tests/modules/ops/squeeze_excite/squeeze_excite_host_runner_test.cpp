// The CUDA kernels of squeeze_excite, run in the host runner against the CPU op.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <optional>

#include "modules/ops/squeeze_excite/squeeze_excite.h"
#include "modules/ops/squeeze_excite/squeeze_excite_kernel.cuh"
#include "modules/ops/squeeze_excite/squeeze_excite_rooms.h"
#include "modules/ops/statistics.h"
#include "tests/support/host_runner.h"
#include "tests/support/host_scratch.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

using detail::SqueezeExciteKernel;
using ops::kSqueezeExciteMaxError;
using test::expect_near;
using test::GlobalBuffer;
using test::HostLauncher;
using test::HostMemory;
using test::HostScratch;
using test::Order;

// Small blocks, so that small maps need several; few processors, so that channels are cut into chunks or not.
struct Device {
  int threads;
  int processors;
  Order order = Order::forward;
};

struct Case {
  at::Tensor x, w1, b1, w2, b2, mix, residual, grad_output, grad_gate;
  bool max_pool = false, relu = false;

  [[nodiscard]] bool channels_last() const { return !x.is_contiguous(); }
};

// Numbers in the order in which they lie in memory.
template <class T>
GlobalBuffer<T> buffer_of(const char* name, const at::Tensor& dense) {
  return GlobalBuffer<T>(name, dense.const_data_ptr<T>(), dense.numel());
}

template <class T>
at::Tensor tensor_of(const GlobalBuffer<T>& buffer, const at::Tensor& like) {
  const at::Tensor result = at::empty_like(like, like.options().dtype(c10::CppTypeToScalarType<T>::value));
  const std::vector<T> values = buffer.values();
  std::copy(values.begin(), values.end(), result.mutable_data_ptr<T>());
  return result;
}

// A problem with its buffers. T is the dtype of x.
template <class T>
class HostSqueezeExcite {
 public:
  using Kernel = SqueezeExciteKernel<HostMemory, T>;
  using A = typename Kernel::A;

  HostSqueezeExcite(const Case& in, const Device& device) : in_(in), device_(device) {}

  detail::SqueezeExciteForward forward(bool gate_only = false) {
    const GlobalBuffer<T> output("output", in_.x.numel());
    const at::Tensor of_gate = at::empty({in_.x.size(0), in_.x.size(1)});
    const GlobalBuffer<A> gate("gate", of_gate.numel());
    run(false, [&](auto* walk, Kernel& p, HostLauncher& launch) {
      if (!gate_only) p.output = output.pointer();
      p.gate = gate.pointer();
      detail::launch_squeeze_excite_forward<std::remove_pointer_t<decltype(walk)>>(launch, p);
    });
    return {gate_only ? at::Tensor() : tensor_of(output, in_.x), tensor_of(gate, of_gate)};
  }

  detail::SqueezeExciteBackward backward() {
    const auto result = [](const at::Tensor& like) {
      return GlobalBuffer<T>("gradient", like.defined() ? like.numel() : 0);
    };
    const GlobalBuffer<T> x = result(in_.x), w1 = result(in_.w1), b1 = result(in_.b1), w2 = result(in_.w2),
                          b2 = result(in_.b2), mix = result(in_.mix);
    run(true, [&](auto* walk, Kernel& p, HostLauncher& launch) {
      p.grad_x = x.pointer();
      p.grad_w1 = w1.pointer();
      p.grad_w2 = w2.pointer();
      if (in_.b1.defined()) p.grad_b1 = b1.pointer();
      if (in_.b2.defined()) p.grad_b2 = b2.pointer();
      if (in_.mix.defined()) p.grad_mix = mix.pointer();
      detail::launch_squeeze_excite_backward<std::remove_pointer_t<decltype(walk)>>(launch, p);
    });
    const auto taken = [](const GlobalBuffer<T>& buffer, const at::Tensor& like) {
      return like.defined() ? tensor_of(buffer, like) : at::empty({0});
    };
    return {taken(x, in_.x),   taken(w1, in_.w1), taken(b1, in_.b1),
            taken(w2, in_.w2), taken(b2, in_.b2), taken(mix, in_.mix)};
  }

 private:
  template <class Launch>
  void run(bool backward, const Launch& launch) {
    detail::for_walk<T>(in_.channels_last(), in_.x.size(1), [&](auto* walk) {
      using Walk = std::remove_pointer_t<decltype(walk)>;
      Kernel p;
      p.map = Walk::split(in_.x.size(0), in_.x.size(1), in_.x.size(2) * in_.x.size(3), device_.threads,
                          device_.processors);
      p.R = in_.w1.size(0);
      p.max_pool = in_.max_pool;
      p.relu = in_.relu;
      std::vector<GlobalBuffer<T>> inputs;
      const auto give = [&](auto& pointer, const char* name, const at::Tensor& x) {
        if (x.defined()) pointer = inputs.emplace_back(buffer_of<T>(name, x)).read_only();
      };
      give(p.x, "x", in_.x);
      give(p.w1, "w1", in_.w1);
      give(p.b1, "b1", in_.b1);
      give(p.w2, "w2", in_.w2);
      give(p.b2, "b2", in_.b2);
      give(p.mix, "mix", in_.mix);
      give(p.residual, "residual", in_.residual);
      give(p.grad_output, "grad_output", in_.grad_output);
      std::optional<GlobalBuffer<A>> of_gate;
      if (in_.grad_gate.defined()) {
        of_gate = buffer_of<A>("grad_gate", in_.grad_gate);
        p.grad_gate = of_gate->read_only();
      }
      HostScratch scratch;
      detail::take_squeeze_excite_scratch(p, backward, scratch);
      HostLauncher launcher{device_.order};
      launch(walk, p, launcher);
    });
  }

  const Case& in_;
  Device device_;
};

struct Shape {
  int64_t B, C, H, W, R;
};

Case random_case(const Shape& shape, at::ScalarType dtype, bool channels_last, bool extras) {
  const auto random = [&](at::IntArrayRef sizes) { return at::randn(sizes).to(dtype); };
  const auto map = [&] {
    const at::Tensor x = random({shape.B, shape.C, shape.H, shape.W});
    return channels_last ? x.contiguous(at::MemoryFormat::ChannelsLast) : x;
  };
  Case result;
  result.x = map();
  // Values that come twice: the first largest cell is one of several.
  if (extras) result.x.mul_(2).round_();
  result.w1 = random({shape.R, shape.C}).div_(std::sqrt(static_cast<double>(shape.C)));
  result.w2 = random({shape.C, shape.R}).div_(std::sqrt(static_cast<double>(shape.R)));
  result.grad_output = map();
  result.max_pool = result.relu = extras;
  if (!extras) return result;
  result.b1 = random({shape.R});
  result.b2 = random({shape.C});
  result.mix = at::scalar_tensor(0.375, dtype);
  result.residual = map();
  result.grad_gate = at::randn({shape.B, shape.C}, detail::statistics_dtype(dtype));
  return result;
}

// One past a pack, a warp, a tile of channels; one cell; more channels than a block spans.
const std::vector<Shape> kShapes{{1, 1, 1, 1, 1},   {2, 5, 3, 3, 2},   {3, 8, 1, 7, 3},   {2, 16, 5, 4, 4},
                                 {1, 3, 37, 29, 1}, {9, 40, 2, 2, 33}, {1, 264, 3, 5, 9}, {2, 33, 9, 1, 16}};
const std::vector<Device> kDevices{{64, 1}, {64, 40, Order::backward}, {256, 4, Order::shuffled}};

template <class T>
class SqueezeExciteHostRunner : public ::testing::Test {};

using Types = ::testing::Types<double, float, c10::BFloat16, c10::Half>;
TYPED_TEST_SUITE(SqueezeExciteHostRunner, Types);

// For every shape and memory order, with and without all the options, on each device in turn.
template <class T, class Body>
void for_cases(const Body& body) {
  torch::manual_seed(5);
  size_t turn = 0;
  for (const Shape& shape : kShapes) {
    for (const bool last : {false, true}) {
      for (const bool extras : {false, true}) {
        const Case in = random_case(shape, c10::CppTypeToScalarType<T>::value, last, extras);
        const Device& device = kDevices[turn++ % kDevices.size()];
        body(in, device,
             fmt::format("[{}, {}, {}, {}], R {}, channels-last {}, extras {}, {} threads, {} processors",
                         shape.B, shape.C, shape.H, shape.W, shape.R, last, extras, device.threads,
                         device.processors));
      }
    }
  }
}

// The CPU op on the same numbers in float64.
std::optional<at::Tensor> wide(const at::Tensor& x) {
  return x.defined() ? std::optional(x.to(at::kDouble)) : std::nullopt;
}
detail::SqueezeExciteForward cpu_forward(const Case& in) {
  return detail::call_squeeze_excite(*wide(in.x), *wide(in.w1), wide(in.b1), *wide(in.w2), wide(in.b2),
                                     wide(in.mix), wide(in.residual), in.max_pool, in.relu, false);
}
detail::SqueezeExciteBackward cpu_backward(const Case& in) {
  return detail::call_squeeze_excite_backward(*wide(in.x), *wide(in.w1), wide(in.b1), *wide(in.w2),
                                              wide(in.b2), wide(in.mix), wide(in.grad_output),
                                              wide(in.grad_gate), in.max_pool);
}

TYPED_TEST(SqueezeExciteHostRunner, forward_agrees_with_the_cpu) {
  const double bound = kSqueezeExciteMaxError.of(c10::CppTypeToScalarType<TypeParam>::value);
  for_cases<TypeParam>([&](const Case& in, const Device& device, const std::string& context) {
    const auto [output, gate] = HostSqueezeExcite<TypeParam>(in, device).forward();
    const auto [cpu_output, cpu_gate] = cpu_forward(in);
    expect_near(output, cpu_output, bound, context);
    expect_near(gate, cpu_gate, bound, context);
  });
}

TYPED_TEST(SqueezeExciteHostRunner, backward_agrees_with_the_cpu) {
  const double bound = kSqueezeExciteMaxError.of(c10::CppTypeToScalarType<TypeParam>::value);
  for_cases<TypeParam>([&](const Case& in, const Device& device, const std::string& context) {
    const auto got = HostSqueezeExcite<TypeParam>(in, device).backward();
    const auto cpu = cpu_backward(in);
    expect_near(std::get<0>(got), std::get<0>(cpu), bound, context + ", x");
    expect_near(std::get<1>(got), std::get<1>(cpu), bound, context + ", w1");
    expect_near(std::get<2>(got), std::get<2>(cpu), bound, context + ", b1");
    expect_near(std::get<3>(got), std::get<3>(cpu), bound, context + ", w2");
    expect_near(std::get<4>(got), std::get<4>(cpu), bound, context + ", b2");
    expect_near(std::get<5>(got), std::get<5>(cpu), bound, context + ", mix");
  });
}

TYPED_TEST(SqueezeExciteHostRunner, every_order_of_threads_leaves_the_same_bits) {
  torch::manual_seed(6);
  for (const bool last : {false, true}) {
    const Case in = random_case({2, 24, 13, 11, 5}, c10::CppTypeToScalarType<TypeParam>::value, last, true);
    const auto first = HostSqueezeExcite<TypeParam>(in, {64, 8, Order::forward}).backward();
    for (const Order order : {Order::backward, Order::shuffled}) {
      const auto again = HostSqueezeExcite<TypeParam>(in, {64, 8, order}).backward();
      EXPECT_TRUE(at::equal(std::get<0>(first), std::get<0>(again)));
      EXPECT_TRUE(at::equal(std::get<1>(first), std::get<1>(again)));
      EXPECT_TRUE(at::equal(std::get<3>(first), std::get<3>(again)));
      EXPECT_TRUE(at::equal(std::get<5>(first), std::get<5>(again)));
    }
  }
}

TYPED_TEST(SqueezeExciteHostRunner, mix_zero_is_bit_equal) {
  for (const bool last : {false, true}) {
    Case in = random_case({2, 8, 5, 3, 2}, c10::CppTypeToScalarType<TypeParam>::value, last, true);
    in.x[0][0][0][0].fill_(-0.0);  // keeps its sign
    in.mix = at::zeros({}, in.x.options());
    in.residual = at::Tensor();
    in.relu = false;
    const at::Tensor output = std::get<0>(HostSqueezeExcite<TypeParam>(in, {64, 8}).forward());
    EXPECT_TRUE(at::equal(output, in.x));
    EXPECT_TRUE(at::equal(output.signbit(), in.x.signbit()));
  }
}

TYPED_TEST(SqueezeExciteHostRunner, the_gate_comes_alone_and_gradients_of_the_gate_alone_pass) {
  torch::manual_seed(7);
  const double bound = kSqueezeExciteMaxError.of(c10::CppTypeToScalarType<TypeParam>::value);
  Case in = random_case({2, 16, 5, 3, 4}, c10::CppTypeToScalarType<TypeParam>::value, true, true);
  in.residual = at::Tensor();
  in.relu = false;
  in.grad_output = at::Tensor();
  HostSqueezeExcite<TypeParam> host(in, {64, 8});
  const auto cpu = cpu_forward(in);
  expect_near(std::get<1>(host.forward(true)), std::get<1>(cpu), bound, "gate");
  const auto cpu_grads = cpu_backward(in);
  const auto grads = host.backward();
  expect_near(std::get<0>(grads), std::get<0>(cpu_grads), bound, "x");
  expect_near(std::get<5>(grads), std::get<5>(cpu_grads), bound, "mix");
}

TEST(SqueezeExciteHostRunnerValues,
     the_maximum_of_equal_cells_is_the_first_even_where_all_are_minus_infinity) {
  for (const bool last : {false, true}) {
    Case in = random_case({1, 4, 5, 9, 2}, at::kFloat, last, true);
    in.x.fill_(1);
    in.grad_output.zero_();
    const at::Tensor grad = std::get<0>(HostSqueezeExcite<float>(in, {64, 8}).backward());  // [1, 4, 5, 9]
    EXPECT_TRUE(at::equal(grad.flatten(2).sub(grad.select(2, 4).select(2, 8).unsqueeze(2)).abs().argmax(2),
                          at::zeros({1, 4}, at::kLong)));
    in.x.fill_(-std::numeric_limits<float>::infinity());
    EXPECT_NO_THROW(HostSqueezeExcite<float>(in, {64, 8}).backward());
  }
}

// A thread whose barriers do nothing.
class WithoutBarriers {
 public:
  using Memory = HostMemory;
  template <class U>
  using Shared = test::HostThread::Shared<U>;
  explicit WithoutBarriers(test::HostThread& thread) : thread_(thread) {}
  int64_t block() const { return thread_.block(); }
  int thread() const { return thread_.thread(); }
  int threads() const { return thread_.threads(); }
  int lane() const { return thread_.lane(); }
  int warp() const { return thread_.warp(); }
  int warps() const { return thread_.warps(); }
  void sync() const {}
  template <class U>
  Shared<U> shared(const char* name, int64_t count) {
    return thread_.shared<U>(name, count);
  }
  template <int N, class U>
  static auto load(const U& pointer, int64_t index) {
    return pointer.template load<N>(index);
  }

 private:
  test::HostThread& thread_;
};

TEST(SqueezeExciteHostRunnerBugs, a_barrier_taken_out_of_the_kernels_is_caught) {
  using Kernel = SqueezeExciteKernel<HostMemory, float>;
  using Walk = detail::ChannelWalk<float, 4>;
  const Case in = random_case({1, 8, 4, 4, 2}, at::kFloat, true, false);
  const auto x = buffer_of<float>("x", in.x), w1 = buffer_of<float>("w1", in.w1);
  HostScratch scratch;
  Kernel p;
  p.map = Walk::split(1, 8, 16, 64, 1);
  p.R = 2;
  p.x = x.read_only();
  p.w1 = w1.read_only();
  detail::take_squeeze_excite_scratch(p, false, scratch);
  const detail::SqueezeExcitePool<Walk, false, false, Kernel> pool{p};
  const auto bytes = detail::SqueezeExciteSums<float, false, false>::shared_bytes(64 * 4);
  const auto caught = [](const detail::Grid& grid, const auto& body) {
    try {
      test::run_grid(
          grid,
          [&](test::HostThread& thread) {
            WithoutBarriers t(thread);
            body(t);
          },
          Order::backward);
    } catch (const test::HostRunnerError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const auto race = ::testing::EndsWith("no barrier lies between");
  EXPECT_THAT(caught(Walk::grid(p.map, bytes), pool), race);
  HostLauncher()(Walk::grid(p.map, bytes), pool);
  const detail::SmallMatmul<detail::SqueezeExciteHidden<Kernel>> hidden{{p}};
  EXPECT_THAT(caught(hidden.grid(64), hidden), ::testing::EndsWith("which nobody has written"));
}

}  // namespace
}  // namespace gaze
