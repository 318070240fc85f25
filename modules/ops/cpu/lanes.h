// Vectors of numbers for CPU kernels: 64 bytes of float or double whatever the instruction set, which the
// compiler splits into the registers it has. Only for sources compiled per instruction set (cpu_isa.h): all
// is of internal linkage. Includes no torch.
//
// T is a type in memory (double, float, Bfloat16, Float16), A the type it is computed in (double for double,
// else float).
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <cstdint>

#include "modules/ops/cpu/cpu_runtime.h"

#define GAZE_LANES static inline __attribute__((always_inline))

namespace gaze::detail {

struct Bfloat16 {
  uint16_t bits;
};
struct Float16 {
  uint16_t bits;
};

namespace {  // NOLINT: one copy a build is the point

template <typename A>
struct LaneTypes;
template <>
struct LaneTypes<float> {
  typedef float Values __attribute__((vector_size(64)));
  typedef int32_t Indices __attribute__((vector_size(64)));
  using Index = int32_t;
};
template <>
struct LaneTypes<double> {
  typedef double Values __attribute__((vector_size(64)));
  typedef int64_t Indices __attribute__((vector_size(64)));
  using Index = int64_t;
};

template <typename A>
using Lanes = typename LaneTypes<A>::Values;
template <typename A>
using LaneIndices = typename LaneTypes<A>::Indices;
template <typename A>
using LaneIndex = typename LaneTypes<A>::Index;
template <typename A>
constexpr int64_t kLanes = 64 / static_cast<int64_t>(sizeof(A));

template <typename T>
struct Accumulator {
  using type = float;
};
template <>
struct Accumulator<double> {
  using type = double;
};

// The A whose lanes an index type counts.
template <typename I>
struct OfIndex {
  using type = float;
};
template <>
struct OfIndex<int64_t> {
  using type = double;
};
template <typename I>
using Accumulated = typename OfIndex<I>::type;

typedef uint16_t Half16 __attribute__((vector_size(32)));
typedef uint32_t Bits16 __attribute__((vector_size(64)));

template <typename A>
GAZE_LANES Lanes<A> all_lanes(A value) {
  return value - Lanes<A>{};
}

// float16 -> float: the exponent's bias is moved by a product, so that subnormal numbers come out right.
GAZE_LANES Lanes<float> widen(Half16 half, Float16) {
  const Bits16 bits = __builtin_convertvector(half, Bits16), magnitude = bits & 0x7fffu;
  const Bits16 scaled = (Bits16)((Lanes<float>)(magnitude << 13) * 0x1p112f);
  const Bits16 finite_or_not = magnitude >= 0x7c00u ? scaled | 0x7f800000u : scaled;
  return (Lanes<float>)(finite_or_not | (bits & 0x8000u) << 16);
}
GAZE_LANES Lanes<float> widen(Half16 half, Bfloat16) {
  return (Lanes<float>)(__builtin_convertvector(half, Bits16) << 16);
}

// To the nearest, ties to even. A sum with 1/2 rounds a subnormal float16 at its last bit.
GAZE_LANES Half16 narrow(Lanes<float> value, Float16) {
  const Bits16 bits = (Bits16)value, magnitude = bits & 0x7fffffffu;
  const Bits16 normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - (112u << 23)) >> 13;
  const Bits16 subnormal = (Bits16)((Lanes<float>)magnitude + 0.5f) - 0x3f000000u;
  Bits16 half = magnitude < 0x38800000u ? subnormal : normal;
  half = magnitude >= 0x477ff000u ? Bits16{} + 0x7c00u : half;  // from 65520 on
  half = magnitude > 0x7f800000u ? Bits16{} + 0x7e00u : half;
  return __builtin_convertvector(half | (bits >> 16 & 0x8000u), Half16);
}
GAZE_LANES Half16 narrow(Lanes<float> value, Bfloat16) {
  const Bits16 bits = (Bits16)value;
  const Bits16 rounded = bits + 0x7fffu + (bits >> 16 & 1u);
  return __builtin_convertvector((value == value ? rounded : Bits16{} + 0x7fc00000u) >> 16, Half16);
}

GAZE_LANES Lanes<float> load(const float* from) {
  Lanes<float> value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
GAZE_LANES Lanes<double> load(const double* from) {
  Lanes<double> value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
GAZE_LANES Lanes<float> load(const T* from) {
  Half16 half;
  __builtin_memcpy(&half, from, sizeof half);
  return widen(half, T());
}

GAZE_LANES void store(float* to, Lanes<float> value) {
  __builtin_memcpy(to, &value, sizeof value);
}
GAZE_LANES void store(double* to, Lanes<double> value) {
  __builtin_memcpy(to, &value, sizeof value);
}
template <typename T>
GAZE_LANES void store(T* to, Lanes<float> value) {
  const Half16 half = narrow(value, T());
  __builtin_memcpy(to, &half, sizeof half);
}

// How many lanes a load or store moves: all, or the first `count`, the others being 0.
struct Whole {};
struct Part {
  int64_t count;
};

template <typename A>
GAZE_LANES int64_t count_of(Whole) {
  return kLanes<A>;
}
template <typename A>
GAZE_LANES int64_t count_of(Part part) {
  return part.count;
}

template <typename T>
GAZE_LANES auto load(const T* from, Whole) {
  return load(from);
}
template <typename T>
GAZE_LANES auto load(const T* from, Part part) {
  T buffer[kLanes<typename Accumulator<T>::type>] = {};
  for (int64_t i = 0; i < part.count; ++i) buffer[i] = from[i];
  return load(buffer);
}
template <typename T>
GAZE_LANES void store(T* to, Lanes<typename Accumulator<T>::type> value, Whole) {
  store(to, value);
}
template <typename T>
GAZE_LANES void store(T* to, Lanes<typename Accumulator<T>::type> value, Part part) {
  T buffer[kLanes<typename Accumulator<T>::type>];
  store(buffer, value);
  for (int64_t i = 0; i < part.count; ++i) to[i] = buffer[i];
}

template <typename I>
GAZE_LANES auto load_indices(const I* from, Whole) {
  LaneIndices<Accumulated<I>> value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
template <typename I>
GAZE_LANES auto load_indices(const I* from, Part part) {
  LaneIndices<Accumulated<I>> value = {};
  for (int64_t i = 0; i < part.count; ++i) value[i] = from[i];
  return value;
}
template <typename I, typename V>
GAZE_LANES void store_indices(I* to, V value, Whole) {
  __builtin_memcpy(to, &value, sizeof value);
}
template <typename I, typename V>
GAZE_LANES void store_indices(I* to, V value, Part part) {
  for (int64_t i = 0; i < part.count; ++i) to[i] = value[i];
}

// Outputs too large to stay in a cache go past it: memory need not be read before it is written. `to` and
// each row of `length` numbers must then start on a cache line.
constexpr int64_t kStreamBytes = int64_t{8} << 20;

template <typename T>
GAZE_LANES bool streams(const void* to, int64_t count, int64_t length) {
  const auto bytes = static_cast<int64_t>(sizeof(T));
#if defined(__SSE2__)
  return to && count * bytes >= kStreamBytes && (uintptr_t)to % 64 == 0 && length * bytes % 64 == 0 &&
         bytes == static_cast<int64_t>(sizeof(typename Accumulator<T>::type));
#else
  return false;
#endif
}

template <bool kStream, typename T, typename V, typename Count>
GAZE_LANES void store_output(T* to, V value, Count count) {
#if defined(__SSE2__)
  if (kStream) {
    __m128 parts[4];
    __builtin_memcpy(parts, &value, sizeof value);
    for (int64_t i = 0; i < 4; ++i) _mm_stream_ps(reinterpret_cast<float*>(to) + 4 * i, parts[i]);
    return;
  }
#endif
  store(to, value, count);
}

// Before other threads read what was streamed.
GAZE_LANES void end_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

template <bool value>
struct Flag {
  constexpr operator bool() const { return value; }  // NOLINT: reads as the value
};

// call(Flag, Flag) with the two values known to the compiler.
template <typename Call>
GAZE_LANES void for_flags(bool a, bool b, const Call& call) {
  if (a && b) return call(Flag<true>(), Flag<true>());
  if (a) return call(Flag<true>(), Flag<false>());
  if (b) return call(Flag<false>(), Flag<true>());
  call(Flag<false>(), Flag<false>());
}

// One number to and from its type in memory.
template <typename T>
GAZE_LANES typename Accumulator<T>::type load_one(const T* from) {
  return load(from, Part{1})[0];
}
GAZE_LANES float load_one(const float* from) {
  return *from;
}
GAZE_LANES double load_one(const double* from) {
  return *from;
}
template <typename T>
GAZE_LANES void store_one(T* to, typename Accumulator<T>::type value) {
  store(to, all_lanes(value), Part{1});
}
GAZE_LANES void store_one(float* to, float value) {
  *to = value;
}
GAZE_LANES void store_one(double* to, double value) {
  *to = value;
}

// body(i, how many) over [0, count) in steps of A's lanes.
template <typename A, typename Body>
GAZE_LANES void for_lanes(int64_t count, const Body& body) {
  int64_t i = 0;
  for (; i + kLanes<A> <= count; i += kLanes<A>) body(i, Whole());
  if (i < count) body(i, Part{count - i});
}

// 0, 1, 2 …
template <typename A>
GAZE_LANES LaneIndices<A> count_lanes() {
  LaneIndices<A> indices = {};
  for (int64_t i = 0; i < kLanes<A>; ++i) indices[i] = static_cast<LaneIndex<A>>(i);
  return indices;
}
template <typename A>
GAZE_LANES LaneIndices<A> all_lanes_index(int64_t value) {
  return LaneIndices<A>{} + static_cast<LaneIndex<A>>(value);
}

// The larger of each pair; the first where the second is not a number.
template <typename V>
GAZE_LANES V larger(V a, V b) {
  return b > a ? b : a;
}

// The same of two numbers or vectors with their places; the first of equal ones.
template <typename V, typename I>
GAZE_LANES void keep_larger(V& top, I& where, V value, I place) {
  where = value > top ? place : where;
  top = larger(top, value);
}

// With the lanes from part.count on replaced by `other`.
template <typename V, typename A>
GAZE_LANES V outside(V value, A, Whole) {
  return value;
}
template <typename V, typename A>
GAZE_LANES V outside(V value, A other, Part part) {
  for (int64_t i = part.count; i < kLanes<A>; ++i) value[i] = other;
  return value;
}

// All lanes joined pairwise by `join`, which takes numbers and vectors.
template <typename Join>
GAZE_LANES float fold(Lanes<float> v, const Join& join) {
  const auto eight = join(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
                          __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
  const auto four = join(__builtin_shufflevector(eight, eight, 0, 1, 2, 3),
                         __builtin_shufflevector(eight, eight, 4, 5, 6, 7));
  return join(join(four[0], four[2]), join(four[1], four[3]));
}
template <typename Join>
GAZE_LANES double fold(Lanes<double> v, const Join& join) {
  const auto four =
      join(__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7));
  return join(join(four[0], four[2]), join(four[1], four[3]));
}
// Four vectors at once, each joined pairwise as `fold` does, with fewer shuffles.
template <typename Join>
GAZE_LANES void fold_four(const Lanes<float> (&v)[4], const Join& join, float* out) {
  const auto halves = [&](auto a, auto b) __attribute__((always_inline)) {  // eight lanes of a, eight of b
    return join(__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
                __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31));
  };
  const auto ab = halves(v[0], v[1]), cd = halves(v[2], v[3]);
  const auto four =  // four lanes of each
      join(__builtin_shufflevector(ab, cd, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27),
           __builtin_shufflevector(ab, cd, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31));
  const auto two = join(__builtin_shufflevector(four, four, 0, 1, 4, 5, 8, 9, 12, 13),
                        __builtin_shufflevector(four, four, 2, 3, 6, 7, 10, 11, 14, 15));
  const auto one =
      join(__builtin_shufflevector(two, two, 0, 2, 4, 6), __builtin_shufflevector(two, two, 1, 3, 5, 7));
  __builtin_memcpy(out, &one, sizeof one);
}
template <typename Join>
GAZE_LANES void fold_four(const Lanes<double> (&v)[4], const Join& join, double* out) {
  for (int64_t i = 0; i < 4; ++i) out[i] = fold(v[i], join);
}
template <typename V>
GAZE_LANES auto sum_of_lanes(V v) {
  return fold(
      v, [](auto a, auto b) __attribute__((always_inline)) { return a + b; });
}
template <typename V>
GAZE_LANES auto largest_lane(V v) {
  return fold(
      v, [](auto a, auto b) __attribute__((always_inline)) { return b > a ? b : a; });
}

// The sums, and the largest numbers, of four vectors.
template <typename A, typename V>
GAZE_LANES void sums_of_lanes(const V (&v)[4], A* out) {
  fold_four(
      v, [](auto a, auto b) __attribute__((always_inline)) { return a + b; }, out);
}
template <typename A, typename V>
GAZE_LANES void largest_lanes(const V (&v)[4], A* out) {
  fold_four(
      v, [](auto a, auto b) __attribute__((always_inline)) { return b > a ? b : a; }, out);
}

// The least place of those lanes that hold `top`.
template <typename V, typename I>
GAZE_LANES int64_t first_place(V v, I places, decltype(V()[0] + 0) top) {
  int64_t first = INT64_MAX;
  for (unsigned i = 0; i < sizeof(V) / sizeof(v[0]); ++i)
    if (v[i] == top && places[i] < first) first = places[i];
  return first;
}

// call(T()) with the type in memory that `type` names.
template <typename F>
void for_type(CpuType type, const F& call) {
  switch (type) {  // NOLINT(bugprone-branch-clone): each calls another instance
    case CpuType::float64:
      return call(double());
    case CpuType::float32:
      return call(float());
    case CpuType::bfloat16:
      return call(Bfloat16());
    case CpuType::float16:
      return call(Float16());
  }
}

GAZE_LANES int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// `count` units cut into pieces of about 64 KB, the same for any number of threads.
struct Pieces {
  int64_t step, count;
};
GAZE_LANES Pieces cut(int64_t count, int64_t bytes_of_one, int64_t least, int64_t most) {
  int64_t step = smaller((int64_t{64} << 10) / bytes_of_one, most);
  if (step < least) step = least;
  return {step, (count + step - 1) / step};
}

// How many pictures go through a kernel's passes together: up to 4 MB of them, so that the later passes find
// in the cache what the first has read, in groups of like size. At least one.
GAZE_LANES int64_t pictures_together(int64_t bytes_of_one, int64_t pictures) {
  const int64_t most = (int64_t{4} << 20) / bytes_of_one;
  if (most <= 1 || pictures <= 1) return 1;
  const int64_t groups = (pictures + most - 1) / most;
  return (pictures + groups - 1) / groups;
}

}  // namespace
}  // namespace gaze::detail
