// linear_attend on the CPU, compiled once per instruction set. A task is a head, whose state and chunk stay
// in the cache, so no bit depends on the number of threads; linear_attend_math.h says how the sums are
// ordered.
#include "modules/ops/linear_attend/linear_attend_cpu_kernel.h"

#include "modules/ops/cpu/lanes.h"
#include "modules/ops/linear_attend/linear_attend_cpu_head.h"

namespace gaze::detail {
namespace {

constexpr int64_t kSlots = 64;  // buffers, whatever the number of threads

// call(Head) for each head.
template <typename T, typename Call>
void for_heads(const LinearAttendCpu& p, CpuRuntime& run, const Call& call) {
  using A = typename Accumulator<T>::type;
  const int64_t heads = p.B * p.N, slots = smaller(heads, kSlots);
  const int64_t room = LinearAttendHead<T, A>::room(p);
  A* const memory = run.scratch<A>(slots * room);
  run.parallel(slots, [&](int64_t slot) {
    fill(memory + slot * room, room, A(0));
    for (int64_t head = slot; head < heads; head += slots) {
      LinearAttendHead<T, A> one(p, head / p.N, head % p.N, memory + slot * room);
      call(one);
    }
  });
}

}  // namespace

void GAZE_CPU_NAME(linear_attend_forward)(const LinearAttendCpu& p, CpuRuntime& run) {
  for_type(p.type,
           [&](auto number) { for_heads<decltype(number)>(p, run, [](auto& head) { head.forward(); }); });
}

void GAZE_CPU_NAME(linear_attend_backward)(const LinearAttendCpu& p, CpuRuntime& run) {
  for_type(p.type,
           [&](auto number) { for_heads<decltype(number)>(p, run, [](auto& head) { head.backward(); }); });
}

}  // namespace gaze::detail
