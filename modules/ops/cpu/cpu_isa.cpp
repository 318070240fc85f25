#include "modules/ops/cpu/cpu_isa.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "modules/core/error.h"

namespace gaze {
namespace {

constexpr CpuIsa kAll[] = {CpuIsa::baseline, CpuIsa::avx2, CpuIsa::avx512};
std::atomic<int> scoped{-1};  // of the living CpuIsaScope, -1 where there is none

std::vector<CpuIsa> detect() {
  std::vector<CpuIsa> found{CpuIsa::baseline};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return found;
  found.push_back(CpuIsa::avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    found.push_back(CpuIsa::avx512);
#endif
  return found;
}

std::string names(const std::vector<CpuIsa>& isas) {
  std::vector<std::string_view> all;
  for (const CpuIsa isa : isas) all.push_back(cpu_isa_name(isa));
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

std::string_view cpu_isa_name(CpuIsa isa) {
  return isa == CpuIsa::avx512 ? "avx512" : isa == CpuIsa::avx2 ? "avx2" : "baseline";
}

const std::vector<CpuIsa>& available_cpu_isas() {
  static const std::vector<CpuIsa> isas = detect();
  return isas;
}

CpuIsa choose_cpu_isa(const char* forced) {
  const std::vector<CpuIsa>& available = available_cpu_isas();
  if (forced == nullptr || *forced == '\0') return available.back();
  for (const CpuIsa isa : kAll) {
    if (cpu_isa_name(isa) != forced) continue;
    if (std::find(available.begin(), available.end(), isa) != available.end()) return isa;
    throw ArgumentError(
        fmt::format("[GAZE_CPU] expected what this CPU has ({}); got {}", names(available), forced));
  }
  throw ArgumentError(fmt::format("[GAZE_CPU] expected baseline, avx2 or avx512; got \"{}\"", forced));
}

CpuIsa cpu_isa() {
  const int isa = scoped.load(std::memory_order_relaxed);
  if (isa >= 0) return static_cast<CpuIsa>(isa);
  static const CpuIsa chosen = choose_cpu_isa(std::getenv("GAZE_CPU"));
  return chosen;
}

CpuIsaScope::CpuIsaScope(CpuIsa isa) : before_(scoped.exchange(static_cast<int>(isa))) {}

CpuIsaScope::~CpuIsaScope() {
  scoped = before_;
}

}  // namespace gaze
