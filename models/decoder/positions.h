// Sinusoidal positions: of words in a caption, and of cells in a picture.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace gaze::models {

// Vaswani et al. 2017: p[t, 2i] = sin(t / 10000^(2i/D)), p[t, 2i+1] = cos of the same, t = first, first + 1,
// ...
// -> [T, D] float32. D is even.
at::Tensor word_positions(int64_t first, int64_t length, int64_t width);

// With y = (row + 0.5) / rows and x = (column + 0.5) / columns, and F = D/4 frequencies f_i = 8^(i/(F-1)) / 2
// cycles a picture (from half a cycle to four):
//   p = [sin(2 pi f_i y) | cos(2 pi f_i y) | sin(2 pi f_i x) | cos(2 pi f_i x)],  i = 0 .. F-1.
// The coordinates are shares of the picture, so the same place has the same code on any grid.
// -> [rows * columns, D] float32, row-major. D is a multiple of 4.
at::Tensor cell_positions(int64_t rows, int64_t columns, int64_t width);

}  // namespace gaze::models
