// Which of a CPU kernel's three builds runs. Includes no torch.
//
// A kernel is one source, compiled once per instruction set (`kernels` in modules/ops/CMakeLists.txt). Its entry
// is declared with GAZE_CPU_KERNEL and defined under the name GAZE_CPU_NAME gives it; the op calls the
// pointer that GAZE_CPU_PICK returns:
//
//   GAZE_CPU_KERNEL(void, gate_forward, const Params&);           in the kernel's header
//   void GAZE_CPU_NAME(gate_forward)(const Params& params) {...}  in the kernel's source
//   GAZE_CPU_PICK(gate_forward)(params);                          in the op
//
// All else in a kernel's source has internal linkage, so that the linker never lets one build use another's.
#pragma once

#include <string_view>
#include <vector>

namespace gaze {

enum class CpuIsa {
  baseline,  // what the compiler targets without flags
  avx2,      // AVX2, FMA, F16C
  avx512,    // AVX-512 F, BW, VL, DQ
};

std::string_view cpu_isa_name(CpuIsa isa);

// Those that this machine runs, the widest last.
const std::vector<CpuIsa>& available_cpu_isas();

// The widest one, or what the environment variable GAZE_CPU (baseline, avx2, avx512) says. Settled at the
// first call. Throws ArgumentError for a value of GAZE_CPU that is unknown or that this machine lacks.
CpuIsa cpu_isa();

// The one that `forced` names, the widest where it is null; what cpu_isa does with GAZE_CPU.
CpuIsa choose_cpu_isa(const char* forced);

// While it lives, cpu_isa is `isa` in all threads. For tests and benchmarks, one at a time.
class CpuIsaScope {
 public:
  explicit CpuIsaScope(CpuIsa isa);
  ~CpuIsaScope();
  CpuIsaScope(const CpuIsaScope&) = delete;
  CpuIsaScope& operator=(const CpuIsaScope&) = delete;

 private:
  int before_;
};

namespace detail {

template <typename F>
F* pick_cpu_kernel(F* baseline, F* avx2, F* avx512) {
  switch (cpu_isa()) {
    case CpuIsa::avx512:
      return avx512;
    case CpuIsa::avx2:
      return avx2;
    default:
      return baseline;
  }
}

}  // namespace detail
}  // namespace gaze

#define GAZE_CPU_PASTE_(name, isa) name##_##isa
#define GAZE_CPU_PASTE(name, isa) GAZE_CPU_PASTE_(name, isa)
#define GAZE_CPU_NAME(name) GAZE_CPU_PASTE(name, GAZE_CPU_BUILD)
#if defined(__x86_64__)
#define GAZE_CPU_KERNEL(result, name, ...) \
  result name##_baseline(__VA_ARGS__);     \
  result name##_avx2(__VA_ARGS__);         \
  result name##_avx512(__VA_ARGS__)
#define GAZE_CPU_PICK(name) ::gaze::detail::pick_cpu_kernel(name##_baseline, name##_avx2, name##_avx512)
#else
#define GAZE_CPU_KERNEL(result, name, ...) result name##_baseline(__VA_ARGS__)
#define GAZE_CPU_PICK(name) ::gaze::detail::pick_cpu_kernel(name##_baseline, name##_baseline, name##_baseline)
#endif
