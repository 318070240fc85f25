#include "models/checkpoint/dtypes.h"

#include <array>

namespace gaze::models {
namespace {

struct Names {
  at::ScalarType type;
  std::string_view safetensors;
  std::string_view storage;  // without "torch."
  std::string_view dtype;    // without "torch."
};

// In the order in which the reference of safetensors writes tensors: widest first, and so aligned.
constexpr std::array<Names, 17> kNames = {{
    {at::kUInt64, "U64", "", "uint64"},
    {at::kLong, "I64", "LongStorage", "int64"},
    {at::kDouble, "F64", "DoubleStorage", "float64"},
    {at::kComplexFloat, "C64", "ComplexFloatStorage", "complex64"},
    {at::kFloat, "F32", "FloatStorage", "float32"},
    {at::kUInt32, "U32", "", "uint32"},
    {at::kInt, "I32", "IntStorage", "int32"},
    {at::kBFloat16, "BF16", "BFloat16Storage", "bfloat16"},
    {at::kHalf, "F16", "HalfStorage", "float16"},
    {at::kUInt16, "U16", "", "uint16"},
    {at::kShort, "I16", "ShortStorage", "int16"},
    {at::kFloat8_e4m3fn, "F8_E4M3", "", "float8_e4m3fn"},
    {at::kFloat8_e5m2, "F8_E5M2", "", "float8_e5m2"},
    {at::kChar, "I8", "CharStorage", "int8"},
    {at::kByte, "U8", "ByteStorage", "uint8"},
    {at::kBool, "BOOL", "BoolStorage", "bool"},
    {at::kComplexDouble, "", "ComplexDoubleStorage", "complex128"},
}};

std::optional<at::ScalarType> find(std::string_view name, std::string_view Names::*field) {
  for (const Names& names : kNames) {
    if (!name.empty() && names.*field == name) return names.type;
  }
  return std::nullopt;
}

constexpr std::string_view kTorch = "torch.";

std::string_view without_torch(std::string_view name) {
  return name.substr(0, kTorch.size()) == kTorch ? name.substr(kTorch.size()) : std::string_view();
}

}  // namespace

std::optional<at::ScalarType> from_safetensors_name(std::string_view name) {
  return find(name, &Names::safetensors);
}

std::string_view to_safetensors_name(at::ScalarType type) {
  for (const Names& names : kNames) {
    if (names.type == type) return names.safetensors;
  }
  return {};
}

size_t safetensors_order(at::ScalarType type) {
  size_t order = 0;
  while (order < kNames.size() && kNames[order].type != type) ++order;
  return order;
}

std::optional<at::ScalarType> from_storage_class(std::string_view name) {
  if (name == "torch.storage.UntypedStorage" || name == "torch.UntypedStorage") return at::kByte;
  return find(without_torch(name), &Names::storage);
}

std::optional<at::ScalarType> from_dtype_name(std::string_view name) {
  return find(without_torch(name), &Names::dtype);
}

std::string_view dtype_text(at::ScalarType type) {
  for (const Names& names : kNames) {
    if (names.type == type) return names.dtype;
  }
  return c10::toString(type);
}

}  // namespace gaze::models
