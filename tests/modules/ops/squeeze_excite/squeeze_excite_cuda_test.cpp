// The CUDA room of squeeze_excite. Without a GPU what can be seen is that it is there; with one, CPU = CUDA.
#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/ops/squeeze_excite/squeeze_excite.h"
#include "tests/support/awkward_shapes.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

using ops::kSqueezeExciteMaxError;
using ops::Pool;
using ops::SqueezeExciteWeights;
using test::expect_near;

TEST(SqueezeExciteCuda, is_registered_without_a_gpu_too) {
  for (const char* name : {"gaze::squeeze_excite", "gaze::squeeze_excite_backward"}) {
    const auto op = c10::Dispatcher::singleton().findSchema({name, ""});
    ASSERT_TRUE(op.has_value()) << name;
    EXPECT_TRUE(op->hasKernelForDispatchKey(c10::DispatchKey::CUDA)) << name;
  }
}

class SqueezeExciteCudaDevice : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU here: the host runner's tests stand in";
  }
};

TEST_P(SqueezeExciteCudaDevice, agrees_with_the_cpu_forward_and_backward) {
  const at::ScalarType dtype = GetParam();
  const double bound = kSqueezeExciteMaxError.of(dtype);
  torch::manual_seed(1);
  for (const int64_t C : {1, 5, 64}) {
    for (const test::NamedMap& map : test::awkward_maps(dtype, C)) {
      for (const bool extras : {false, true}) {
        // Every input as a leaf on each device; the CPU's in float64.
        std::vector<at::Tensor> inputs{map.x, at::randn({3, C}).div_(std::sqrt(C)).to(dtype),
                                       at::randn({C, 3}).to(dtype)};
        if (extras) {
          inputs.insert(inputs.end(), {at::randn({3}).to(dtype), at::randn({C}).to(dtype),
                                       at::scalar_tensor(0.375, dtype), at::randn_like(map.x)});
        }
        const auto run = [&](at::Device device, at::ScalarType as) {
          std::vector<at::Tensor> in;
          for (const at::Tensor& x : inputs) in.push_back(x.to(device, as).detach().requires_grad_());
          const SqueezeExciteWeights weights{in[1], extras ? in[3] : at::Tensor(), in[2],
                                             extras ? in[4] : at::Tensor()};
          const auto got =
              ops::squeeze_excite(in[0], weights, extras ? Pool::avg_max : Pool::avg,
                                  extras ? in[5] : at::Tensor(), {extras ? in[6] : at::Tensor(), false});
          auto result =
              torch::autograd::grad({got.output.to(at::kDouble).sum() + got.gate.square().sum()}, in);
          result.push_back(got.output.detach());
          result.push_back(got.gate.detach());
          return result;
        };
        const auto expected = run(at::kCPU, at::kDouble), got = run(at::kCUDA, dtype),
                   again = run(at::kCUDA, dtype);
        for (size_t i = 0; i < got.size(); ++i) {
          const std::string context = fmt::format("{}, C {}, extras {}, result {}", map.name, C, extras, i);
          expect_near(got[i].cpu(), expected[i], bound, context);
          EXPECT_TRUE(at::equal(got[i], again[i])) << context << ": not the same bits twice";
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, SqueezeExciteCudaDevice,
                         ::testing::Values(at::kDouble, at::kFloat, at::kBFloat16, at::kHalf),
                         [](const auto& info) { return std::string(c10::toString(info.param)); });

}  // namespace
}  // namespace gaze
