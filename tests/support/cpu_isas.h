// Tests that run on every instruction set this machine has.
#pragma once

#include <c10/core/ScalarType.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "modules/ops/cpu/cpu_isa.h"

namespace gaze::test {

// A suite derives from one of these and is instantiated with the values below it.
class OnCpuIsa : public ::testing::TestWithParam<CpuIsa> {
 private:
  CpuIsaScope scope_{GetParam()};
};

inline auto every_cpu_isa() {
  return ::testing::ValuesIn(available_cpu_isas());
}

inline std::string cpu_isa_of(const ::testing::TestParamInfo<CpuIsa>& info) {
  return std::string(cpu_isa_name(info.param));
}

class OnDtypeAndCpuIsa : public ::testing::TestWithParam<std::tuple<c10::ScalarType, CpuIsa>> {
 protected:
  c10::ScalarType dtype() const { return std::get<0>(GetParam()); }

 private:
  CpuIsaScope scope_{std::get<1>(GetParam())};
};

inline auto every_dtype_and_cpu_isa() {
  return ::testing::Combine(::testing::Values(c10::ScalarType::Double, c10::ScalarType::Float,
                                              c10::ScalarType::BFloat16, c10::ScalarType::Half),
                            every_cpu_isa());
}

inline std::string dtype_and_cpu_isa_of(
    const ::testing::TestParamInfo<std::tuple<c10::ScalarType, CpuIsa>>& info) {
  return std::string(c10::toString(std::get<0>(info.param))) + "_" +
         std::string(cpu_isa_name(std::get<1>(info.param)));
}

}  // namespace gaze::test
