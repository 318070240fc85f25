#include "models/checkpoint/safetensors.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "models/checkpoint/dtypes.h"
#include "models/checkpoint/safetensors_header.h"
#include "modules/core/atomic_file.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr const char* kMetadata = "__metadata__";

void normalise_bools(at::Tensor& tensor) {
  uint8_t* values = static_cast<uint8_t*>(tensor.data_ptr());
  for (int64_t i = 0; i < tensor.numel(); ++i) values[i] = values[i] != 0;
}

}  // namespace

Safetensors read_safetensors(const FileReader& file) {
  SafetensorsHeader header = read_safetensors_header(file);
  Safetensors content;
  content.metadata = std::move(header.metadata);
  for (const auto& [name, entry] : header.tensors) {
    at::Tensor tensor = at::empty(entry.shape, entry.dtype);
    if (entry.end != entry.begin) file.read(entry.begin, tensor.data_ptr(), entry.end - entry.begin);
    if (entry.dtype == at::kBool) normalise_bools(tensor);
    content.tensors.emplace(name, std::move(tensor));
  }
  return content;
}

Safetensors read_safetensors(const std::filesystem::path& path) {
  return read_safetensors(FileReader(path));
}

void write_safetensors(const std::filesystem::path& path, const Safetensors& content) {
  struct Item {
    const std::string* name;
    const at::Tensor* tensor;
  };
  std::vector<Item> items;
  for (const auto& [name, tensor] : content.tensors) {
    check_that(name != kMetadata, "write_safetensors", "tensor names other than __metadata__", name);
    check_that(tensor.defined(), "write_safetensors", "defined tensors",
               fmt::format("an undefined one, {}", name));
    check_that(!to_safetensors_name(tensor.scalar_type()).empty() && tensor.layout() == at::kStrided,
               "write_safetensors", "dense tensors of a type safetensors has",
               fmt::format("{} of {}", name, dtype_text(tensor.scalar_type())));
    items.push_back({&name, &tensor});
  }
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return safetensors_order(a.tensor->scalar_type()) < safetensors_order(b.tensor->scalar_type());
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!content.metadata.empty()) header[kMetadata] = content.metadata;
  uint64_t offset = 0;
  for (const Item& item : items) {
    const uint64_t end = offset + static_cast<uint64_t>(item.tensor->nbytes());
    header[*item.name] = {{"dtype", std::string(to_safetensors_name(item.tensor->scalar_type()))},
                          {"shape", item.tensor->sizes().vec()},
                          {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    throw ArgumentError("[write_safetensors] expected names and metadata in UTF-8; got other bytes");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');

  write_atomically(path, [&](std::ostream& stream) {
    uint64_t length = text.size();
    for (int i = 0; i < 8; ++i, length >>= 8) stream.put(static_cast<char>(length & 0xff));
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    for (const Item& item : items) {
      const at::Tensor data = item.tensor->detach().cpu().resolve_conj().resolve_neg().contiguous();
      if (data.numel() > 0)
        stream.write(static_cast<const char*>(data.data_ptr()), static_cast<std::streamsize>(data.nbytes()));
      if (!stream) return;
    }
  });
}

}  // namespace gaze::models
