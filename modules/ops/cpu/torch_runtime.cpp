#include "modules/ops/cpu/torch_runtime.h"

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>

// The thread sanitizer does not see how OpenMP orders its threads: it is told, so that what it reports are
// the kernels' own races. This source itself is compiled without it (CMakeLists.txt).
#if defined(GAZE_THREAD_SANITIZER)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace gaze::detail {
namespace {

// What came before a parallel loop comes before each of its pieces, and each of them before what follows.
class LoopOrder {
 public:
#if defined(GAZE_THREAD_SANITIZER)
  LoopOrder() {
    __tsan_release(&before_);
  }
  ~LoopOrder() {
    __tsan_acquire(&after_);
  }
  void begin_piece() {
    __tsan_acquire(&before_);
  }
  void end_piece() {
    __tsan_release(&after_);
  }

 private:
  char before_ = 0, after_ = 0;
#else
  void begin_piece() {}
  void end_piece() {}
#endif
};

}  // namespace

// at::parallel_for is a template over OpenMP: compiled here it would run on this thread alone, or, with
// OpenMP, on a second pool beside LibTorch's. A TensorIterator's loop is compiled in LibTorch; ours goes over
// a tensor of `count` bytes that nobody reads, whose places are the indices.
void TorchRuntime::run(int64_t count, Range range, const void* context) const {
  if (count <= 1 || at::get_num_threads() == 1 || at::in_parallel_region()) return range(context, 0, count);
  const at::Tensor places = at::empty({count}, at::kByte);
  const char* const first = static_cast<const char*>(places.const_data_ptr());
  at::TensorIterator loop = at::TensorIterator::borrowing_nullary_op(places);
  LoopOrder order;
  loop.for_each(
      [&](char** data, const int64_t*, int64_t size) {
        order.begin_piece();
        const int64_t begin = data[0] - first;
        range(context, begin, begin + size);
        order.end_piece();
      },
      /*grain_size=*/1);
}

void* TorchRuntime::allocate(int64_t bytes) {
  memory_.push_back(c10::GetCPUAllocator()->allocate(static_cast<size_t>(bytes)));
  return memory_.back().get();
}

}  // namespace gaze::detail
