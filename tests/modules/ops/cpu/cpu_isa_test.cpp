#include "modules/ops/cpu/cpu_isa.h"

#include <gtest/gtest.h>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

TEST(CpuIsa, the_widest_unless_one_is_forced) {
  EXPECT_EQ(available_cpu_isas().front(), CpuIsa::baseline);
  EXPECT_EQ(choose_cpu_isa(nullptr), available_cpu_isas().back());
  EXPECT_EQ(choose_cpu_isa(""), available_cpu_isas().back());
  for (const CpuIsa isa : available_cpu_isas()) EXPECT_EQ(choose_cpu_isa(cpu_isa_name(isa).data()), isa);
}

TEST(CpuIsa, names_are_those_of_the_environment_variable) {
  EXPECT_EQ(cpu_isa_name(CpuIsa::baseline), "baseline");
  EXPECT_EQ(cpu_isa_name(CpuIsa::avx2), "avx2");
  EXPECT_EQ(cpu_isa_name(CpuIsa::avx512), "avx512");
}

TEST(CpuIsa, what_cannot_be_is_an_error) {
  EXPECT_THROWS_WITH(choose_cpu_isa("sse9"), ArgumentError,
                     "[GAZE_CPU] expected baseline, avx2 or avx512; got \"sse9\"");
  if (available_cpu_isas().size() == 2) {
    EXPECT_THROWS_WITH(choose_cpu_isa("avx512"), ArgumentError,
                       "[GAZE_CPU] expected what this CPU has (baseline, avx2); got avx512");
  }
}

TEST(CpuIsa, a_scope_ends) {
  const CpuIsa before = cpu_isa();
  {
    const CpuIsaScope outer(CpuIsa::baseline);
    EXPECT_EQ(cpu_isa(), CpuIsa::baseline);
    {
      const CpuIsaScope inner(available_cpu_isas().back());
      EXPECT_EQ(cpu_isa(), available_cpu_isas().back());
    }
    EXPECT_EQ(cpu_isa(), CpuIsa::baseline);
  }
  EXPECT_EQ(cpu_isa(), before);
}

}  // namespace
}  // namespace gaze
