#include "models/checkpoint/pickled_tensors.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "models/checkpoint/dtypes.h"
#include "models/checkpoint/pickled_state.h"

namespace gaze::models {
namespace {

using Kind = PickledValue::Kind;

constexpr size_t kMostTensors = 100'000;
constexpr int64_t kMostRepeated = 64 << 20;  // bytes that views with stride 0 may add to what the file holds

[[noreturn]] void damaged(const FileReader& file, const std::string& why) {
  file.fail("is damaged: " + why, kCopyAgain);
}

const PickledValue* item(const PickledValue* tuple, size_t index) {
  const bool sequence = tuple != nullptr && (tuple->is(Kind::tuple) || tuple->is(Kind::list));
  return sequence && index < tuple->items.size() ? tuple->items[index] : nullptr;
}

bool is_kind(const PickledValue* value, Kind kind) {
  return value != nullptr && value->is(kind);
}

// Rebuilds tensors; keeps the storages already read.
class TensorReader {
 public:
  TensorReader(const FileReader& file, const StorageExtents& extents) : file_(file), extents_(extents) {}

  // Nothing for a value that is no tensor.
  std::optional<at::Tensor> read(const std::string& name, const PickledValue& value);

 private:
  struct Loaded {
    at::Tensor bytes;  // uint8
    at::ScalarType dtype;
  };

  const Loaded& load(const StorageReference& reference, at::ScalarType dtype);
  std::vector<int64_t> numbers(const PickledValue* value) const;
  [[noreturn]] void wrong(const char* why) const {
    damaged(file_, fmt::format("its tensor \"{}\" {}", shown(name_), why));
  }

  const FileReader& file_;
  const StorageExtents& extents_;
  std::map<std::string, Loaded> loaded_;
  std::string name_;
};

const TensorReader::Loaded& TensorReader::load(const StorageReference& reference, at::ScalarType dtype) {
  const auto known = loaded_.find(reference.key);
  if (known != loaded_.end()) {
    if (known->second.dtype != dtype) wrong("shares its storage with one of another type");
    return known->second;
  }
  const auto found = extents_.find(reference.key);
  if (found == extents_.end()) wrong("lacks its storage");
  int64_t bytes = 0;
  if (__builtin_mul_overflow(reference.elements, static_cast<int64_t>(c10::elementSize(reference.dtype)),
                             &bytes) ||
      static_cast<uint64_t>(bytes) != found->second.bytes) {
    wrong("has a storage of another size than the file");
  }
  at::Tensor data = at::empty({bytes}, at::kByte);
  if (bytes > 0) file_.read(found->second.begin, data.data_ptr(), found->second.bytes);
  if (dtype == at::kBool) {  // any other byte would be undefined as a bool
    uint8_t* values = data.data_ptr<uint8_t>();
    for (int64_t i = 0; i < bytes; ++i) values[i] = values[i] != 0;
  }
  return loaded_.emplace(reference.key, Loaded{std::move(data), dtype}).first->second;
}

// A tuple, list or torch.Size of numbers that are not negative.
std::vector<int64_t> TensorReader::numbers(const PickledValue* value) const {
  if (value != nullptr && value->is_object("torch.Size")) value = item(value->arguments, 0);
  if (value == nullptr || !(value->is(Kind::tuple) || value->is(Kind::list)))
    wrong("has no sizes or strides");
  std::vector<int64_t> result;
  for (const PickledValue* number : value->items) {
    if (!number->is(Kind::integer) || number->integer < 0)
      wrong("has a size or stride that is negative or no number");
    result.push_back(number->integer);
  }
  return result;
}

std::optional<at::Tensor> TensorReader::read(const std::string& name, const PickledValue& value) {
  name_ = name;
  const PickledValue* arguments = value.arguments;
  std::string function = value.is(Kind::object) ? value.text : std::string();
  for (int i = 0; i < 8; ++i) {
    if (function == "torch._utils._rebuild_parameter" ||
        function == "torch._utils._rebuild_parameter_with_state") {
      const PickledValue* inner = item(arguments, 0);
      if (!is_kind(inner, Kind::object)) wrong("is a parameter without a tensor");
      function = inner->text;
      arguments = inner->arguments;
    } else if (function == "torch._tensor._rebuild_from_type_v2" ||
               function == "torch._tensor._rebuild_from_type") {
      const PickledValue* inner = item(arguments, 0);
      if (!is_kind(inner, Kind::global)) wrong("is of a subclass that cannot be read");
      function = inner->text;
      arguments = item(arguments, 2);
    } else {
      break;
    }
  }
  const bool with_dtype = function == "torch._utils._rebuild_tensor_v3";
  if (function != "torch._utils._rebuild_tensor" && function != "torch._utils._rebuild_tensor_v2" &&
      !with_dtype) {
    if (function.rfind("torch._utils._rebuild_", 0) != 0) return std::nullopt;
    file_.fail(
        fmt::format("has a tensor \"{}\" of a kind that is not read ({})", shown(name), shown(function)),
        "save it as a dense tensor (.dequantize(), .to_dense())");
  }

  const PickledValue* id = item(arguments, 0);
  const std::optional<StorageReference> reference =
      id == nullptr ? std::nullopt : storage_reference(file_, *id);
  if (!reference) wrong("has no storage");
  at::ScalarType dtype = reference->dtype;
  if (with_dtype) {
    const PickledValue* given = item(arguments, 6);
    const std::optional<at::ScalarType> known =
        is_kind(given, Kind::global) ? from_dtype_name(given->text) : std::nullopt;
    if (!known) {
      file_.fail(fmt::format("has a tensor \"{}\" of the type {}, which is not known", shown(name),
                             is_kind(given, Kind::global) ? shown(given->text) : "that is not named"),
                 "save it in another type (.float())");
    }
    dtype = *known;
  }
  const PickledValue* offset_value = item(arguments, 1);
  if (!is_kind(offset_value, Kind::integer) || offset_value->integer < 0)
    wrong("has no offset into its storage");
  const std::vector<int64_t> size = numbers(item(arguments, 2));
  const std::vector<int64_t> stride = numbers(item(arguments, 3));
  if (size.size() != stride.size()) wrong("has more sizes than strides, or fewer");

  const int64_t width = static_cast<int64_t>(c10::elementSize(dtype));
  const int64_t storage_width = static_cast<int64_t>(c10::elementSize(reference->dtype));
  int64_t bytes = width;  // of the tensor, were it contiguous; zeros left out, as torch multiplies them
  int64_t last = 0;
  int64_t begin = 0;
  bool fits = !__builtin_add_overflow(offset_value->integer, reference->view_begin, &begin);
  last = begin;
  for (size_t axis = 0; axis < size.size(); ++axis) {
    if (size[axis] == 0) continue;
    int64_t reach = 0;
    fits = fits && !__builtin_mul_overflow(bytes, size[axis], &bytes) &&
           !__builtin_mul_overflow(size[axis] - 1, stride[axis], &reach) &&
           !__builtin_add_overflow(last, reach, &last);
  }
  if (!fits) wrong("has impossible sizes or strides");
  if (std::find(size.begin(), size.end(), 0) != size.end()) return at::empty(size, dtype);

  const Loaded& storage = load(*reference, dtype);
  const int64_t available =
      (reference->view_begin + reference->view_size) * storage_width / width;  // load() checked the bytes
  if (last >= available) wrong("reaches outside its storage");
  if (bytes > storage.bytes.numel() + kMostRepeated) wrong("repeats its storage too often");
  return at::empty({0}, dtype).set_(storage.bytes.storage(), begin, size, stride);
}

[[noreturn]] void fail_empty(const FileReader& file, const PickledState& found) {
  if (found.holder->is(Kind::object)) {
    file.fail(fmt::format("holds an object made by {}, not a state dict (nothing of it was run)",
                          shown(found.holder->text)),
              kSaveStateDict);
  }
  constexpr size_t most = 8;
  std::vector<std::string> names;
  for (const auto& item : found.entries) {
    if (names.size() == most) break;
    names.push_back(shown(item.first));
  }
  file.fail(names.empty()
                ? "holds no tensors by name"
                : fmt::format("holds no tensors by name; its entries are {}", fmt::join(names, ", ")),
            kSaveStateDict);
}

}  // namespace

std::optional<StorageReference> storage_reference(const FileReader& file, const PickledValue& value) {
  if (!value.is(Kind::persistent)) return std::nullopt;
  const PickledValue* kind = item(value.arguments, 0);
  if (is_kind(kind, Kind::string) && kind->text == "module")
    return std::nullopt;  // a class, with its source text
  const PickledValue* type = item(value.arguments, 1);
  const PickledValue* key = item(value.arguments, 2);
  const PickledValue* elements = item(value.arguments, 4);
  const PickledValue* view = item(value.arguments, 5);
  const bool well_formed = is_kind(kind, Kind::string) && kind->text == "storage" &&
                           is_kind(type, Kind::global) && is_kind(key, Kind::string) &&
                           is_kind(elements, Kind::integer) && elements->integer >= 0;
  if (!well_formed) damaged(file, "it refers to a storage in an unknown way");
  const std::optional<at::ScalarType> dtype = from_storage_class(type->text);
  if (!dtype)
    file.fail(fmt::format("has a storage of the type {}, which is not known", shown(type->text)),
              kSaveStateDict);
  StorageReference reference{key->text, *dtype, elements->integer, 0, elements->integer};
  if (view != nullptr && !view->is(Kind::none)) {  // of PyTorch before 0.4: (key, begin, size)
    const PickledValue* begin = item(view, 1);
    const PickledValue* size = item(view, 2);
    const bool inside = is_kind(begin, Kind::integer) && is_kind(size, Kind::integer) &&
                        begin->integer >= 0 && size->integer >= 0 && begin->integer <= reference.elements &&
                        size->integer <= reference.elements - begin->integer;
    if (!inside) damaged(file, "a view of a storage lies outside it");
    reference.view_begin = begin->integer;
    reference.view_size = size->integer;
  }
  return reference;
}

StateDict read_tensors(const FileReader& file, const PickledValue& root, const StorageExtents& extents) {
  const PickledState found = find_state(file, root);
  TensorReader reader(file, extents);
  StateDict state;
  for (const auto& [name, entry] : found.entries) {
    std::optional<at::Tensor> tensor = reader.read(name, *entry);
    if (!tensor) continue;
    if (state.size() == kMostTensors) damaged(file, fmt::format("it has more than {} tensors", kMostTensors));
    state.emplace(name, std::move(*tensor));
  }
  if (state.empty()) fail_empty(file, found);
  static const std::string prefix = "module.";  // of torch.nn.DataParallel
  const bool all = std::all_of(state.begin(), state.end(),
                               [](const auto& item) { return item.first.rfind(prefix, 0) == 0; });
  if (!all) return state;
  StateDict bare;
  for (auto& [name, tensor] : state) bare.emplace(name.substr(prefix.size()), std::move(tensor));
  return bare;
}

}  // namespace gaze::models
