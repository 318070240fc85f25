// N neighbours of a row that travel in one load or store.
#pragma once

namespace gaze::detail {

template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};

// The elements a thread moves at once where alignment allows: 128 bits.
template <class T>
inline constexpr int kPackSize = 16 / static_cast<int>(sizeof(T));

}  // namespace gaze::detail
