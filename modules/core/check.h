// Every check of an argument, and so every error text, in one form:
//   [op] expected NAME [B, C, H, W]; got NAME [8, 64]
// All functions throw ArgumentError; they allocate nothing when the check passes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "modules/core/error.h"

namespace gaze {

// One expected dimension: a letter of dims.h, and its size where it is settled ("C=64" in the text).
struct Dim {
  Dim(const char* letter, int64_t size = -1) : letter(letter), size(size) {}  // NOLINT: reads as a list
  const char* letter;
  int64_t size;
};

// "[8, 64]"
std::string shape_text(at::IntArrayRef shape);

// `x` is defined, has as many dimensions as `expected`, and the settled sizes.
void check_shape(const at::Tensor& x, std::string_view name, std::initializer_list<Dim> expected,
                 std::string_view op);

// `x` is float64, float32, bfloat16 or float16.
void check_floating(const at::Tensor& x, std::string_view name, std::string_view op);

// `y` has the dtype and the device of `x`.
void check_like(const at::Tensor& y, std::string_view y_name, const at::Tensor& x, std::string_view x_name,
                std::string_view op);

// `holds`, else "[op] expected EXPECTED; got GOT".
void check_that(bool holds, std::string_view op, std::string_view expected, std::string_view got);

// A name that is not in `known`: "[op] unknown WHAT "cbm"; did you mean "cbam"? known: cbam, se". The near
// miss (edit distance at most a third of the name) is left out where there is none.
[[noreturn]] void fail_unknown(std::string_view op, std::string_view what, std::string_view name,
                               const std::vector<std::string>& known);

}  // namespace gaze
