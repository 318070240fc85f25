// What a kernel body sees of the machine. A body is a struct whose call operator is a template over its
// thread:
//
//   template <class Thread> GAZE_HOST_DEVICE void operator()(Thread& t) const;
//
// nvcc compiles it with DeviceThread, whose members are single instructions; g++ and clang compile it with
// HostThread of tests/support/host_runner.h, which runs whole grids and watches them. Both have
//
//   t.block()  t.thread()  t.threads()  t.lane()  t.warp()  t.warps()      grids and blocks have one
//   dimension t.sync()                                                                barrier of the block
//   t.shuffle(v, lane)  t.shuffle_xor(v, flip)  t.shuffle_down(v, distance)  t.ballot(predicate)
//                                                                           of a warp; a mask may follow
//   auto a = t.template shared<T>("name", count)                            shared memory, a Shared<T>, in
//   order of the calls t.template load<N>(pointer, index)  t.template store<N>(pointer, index, pack)   N
//   neighbours, aligned to N
//
// Pointers are Memory::Global<T>; an element is read as `const T v = p[i]` (never auto) and written as
// `p[i] = v`. Bodies use no atomics, so that results do not depend on the order of blocks.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "modules/ops/cuda/grid.h"
#include "modules/ops/cuda/pack.h"

namespace gaze::detail {

struct DeviceMemory {
  template <class T>
  using Global = T*;
};

class DeviceThread {
 public:
  template <class T>
  using Shared = T*;

  __device__ int64_t block() const { return blockIdx.x; }
  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }
  __device__ int lane() const { return thread() % 32; }
  __device__ int warp() const { return thread() / 32; }
  __device__ int warps() const { return threads() / 32; }

  __device__ void sync() const { __syncthreads(); }

  template <class T>
  __device__ T shuffle(T value, int lane, unsigned mask = ~0U) const {
    return __shfl_sync(mask, value, lane);
  }
  template <class T>
  __device__ T shuffle_xor(T value, int flip, unsigned mask = ~0U) const {
    return __shfl_xor_sync(mask, value, flip);
  }
  template <class T>
  __device__ T shuffle_down(T value, int distance, unsigned mask = ~0U) const {
    return __shfl_down_sync(mask, value, static_cast<unsigned>(distance));
  }
  __device__ unsigned ballot(bool predicate, unsigned mask = ~0U) const {
    return __ballot_sync(mask, predicate);
  }

  template <class T>
  __device__ T* shared(const char*, int64_t count) {
    extern __shared__ __align__(16) unsigned char memory[];
    T* const array = reinterpret_cast<T*>(memory + shared_used_);
    shared_used_ += static_cast<int>(array_bytes(count, sizeof(T)));
    return array;
  }

  // Through the read-only cache where T is const.
  template <int N, class T>
  __device__ static Pack<std::remove_const_t<T>, N> load(T* pointer, int64_t index) {
    using Result = Pack<std::remove_const_t<T>, N>;
    if constexpr (std::is_const_v<T> && sizeof(Result) == 16) {
      const uint4 bits = __ldg(reinterpret_cast<const uint4*>(pointer + index));
      Result result;
      memcpy(&result, &bits, 16);
      return result;
    } else {
      return *reinterpret_cast<const Result*>(pointer + index);
    }
  }
  template <int N, class T>
  __device__ static void store(T* pointer, int64_t index, const Pack<T, N>& pack) {
    if constexpr (sizeof(pack) == 16) {
      uint4 bits;
      memcpy(&bits, &pack, 16);
      *reinterpret_cast<uint4*>(pointer + index) = bits;
    } else {
      *reinterpret_cast<Pack<T, N>*>(pointer + index) = pack;
    }
  }

 private:
  int shared_used_ = 0;
};

}  // namespace gaze::detail
