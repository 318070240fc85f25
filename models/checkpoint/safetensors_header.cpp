#include "models/checkpoint/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "models/checkpoint/dtypes.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr uint64_t kLargestHeader = 100'000'000;
constexpr size_t kMostTensors = 100'000;
constexpr size_t kMostSizes = 64;
constexpr size_t kMostMetadata = 100'000;
constexpr const char* kMetadata = "__metadata__";

// {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"key": "text"}} and
// nothing else. Reads events, so that a hostile header builds no tree; returns false (stop) with `problem`
// set at the first misfit.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  SafetensorsHeader header;
  std::string problem;

  bool start_object(size_t) override {
    switch (place_) {
      case Place::outside:
        place_ = Place::top;
        return true;
      case Place::entry:
        place_ = name_ == kMetadata ? Place::metadata : Place::tensor;
        return true;
      default:
        return misfit();
    }
  }

  bool key(string_t& key) override {
    switch (place_) {
      case Place::top:
        name_ = key;
        place_ = Place::entry;
        if (header.tensors.count(key) != 0 || (key == kMetadata && saw_metadata_)) {
          return stop(fmt::format("names \"{}\" twice", shown(key)));
        }
        if (key == kMetadata) {
          saw_metadata_ = true;
        } else {
          if (header.tensors.size() == kMostTensors)
            return stop(fmt::format("names more than {} tensors", kMostTensors));
          entry_ = &header.tensors[key];
          saw_dtype_ = saw_shape_ = saw_offsets_ = false;
          offsets_.clear();
        }
        return true;
      case Place::metadata:
        metadata_key_ = key;
        if (header.metadata.count(key) != 0)
          return stop(fmt::format("names \"{}\" of its metadata twice", shown(key)));
        if (header.metadata.size() == kMostMetadata)
          return stop(fmt::format("has more than {} entries of metadata", kMostMetadata));
        return true;
      case Place::tensor:
        field_ = key;
        if (field_ != "dtype" && field_ != "shape" && field_ != "data_offsets") {
          return stop(fmt::format("gives \"{}\" an unknown field \"{}\"", shown(name_), shown(key)));
        }
        if ((field_ == "dtype" && saw_dtype_) || (field_ == "shape" && saw_shape_) ||
            (field_ == "data_offsets" && saw_offsets_)) {
          return stop(fmt::format("gives \"{}\" the field \"{}\" twice", shown(name_), shown(key)));
        }
        return true;
      default:
        return misfit();
    }
  }

  bool end_object() override {
    if (place_ == Place::metadata) {
      place_ = Place::top;
      return true;
    }
    if (place_ == Place::tensor) {
      if (!saw_dtype_ || !saw_shape_ || offsets_.size() != 2) {
        return stop(fmt::format("does not give \"{}\" a dtype, a shape and two data_offsets", shown(name_)));
      }
      entry_->begin = offsets_[0];
      entry_->end = offsets_[1];
      place_ = Place::top;
      return true;
    }
    if (place_ == Place::top) {
      place_ = Place::done;
      return true;
    }
    return misfit();
  }

  bool start_array(size_t) override {
    if (place_ != Place::tensor || field_ == "dtype") return misfit();
    (field_ == "shape" ? saw_shape_ : saw_offsets_) = true;
    place_ = Place::numbers;
    return true;
  }

  bool end_array() override {
    if (place_ != Place::numbers) return misfit();
    place_ = Place::tensor;
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata) {
      header.metadata[metadata_key_] = text;
      return true;
    }
    if (place_ != Place::tensor || field_ != "dtype") return misfit();
    const std::optional<at::ScalarType> dtype = from_safetensors_name(text);
    if (!dtype)
      return stop(
          fmt::format("gives \"{}\" the dtype \"{}\", which is not known", shown(name_), shown(text)));
    entry_->dtype = *dtype;
    saw_dtype_ = true;
    return true;
  }

  bool number_unsigned(number_unsigned_t number) override {
    if (place_ != Place::numbers) return misfit();
    if (field_ == "shape") {
      if (number > static_cast<uint64_t>(INT64_MAX))
        return stop(fmt::format("gives \"{}\" an impossible shape", shown(name_)));
      if (entry_->shape.size() == kMostSizes)
        return stop(fmt::format("gives \"{}\" more than {} sizes", shown(name_), kMostSizes));
      entry_->shape.push_back(static_cast<int64_t>(number));
    } else {
      if (offsets_.size() == 2) return misfit();
      offsets_.push_back(number);
    }
    return true;
  }

  bool number_integer(number_integer_t number) override {
    return stop(fmt::format("gives \"{}\" a negative number, {}", shown(name_), number));
  }
  bool number_float(number_float_t, const string_t&) override { return misfit(); }
  bool null() override { return misfit(); }
  bool boolean(bool) override { return misfit(); }
  bool binary(binary_t&) override { return misfit(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    return stop(fmt::format("is not JSON at its byte {}", position));
  }

 private:
  enum class Place { outside, top, entry, metadata, tensor, numbers, done };

  bool stop(std::string text) {
    problem = std::move(text);
    return false;
  }
  bool misfit() {
    return stop(name_.empty() ? "is not an object of tensors"
                              : fmt::format("describes \"{}\" wrongly", shown(name_)));
  }

  Place place_ = Place::outside;
  std::string name_, metadata_key_, field_;
  SafetensorsEntry* entry_ = nullptr;
  std::vector<uint64_t> offsets_;
  bool saw_metadata_ = false, saw_dtype_ = false, saw_shape_ = false, saw_offsets_ = false;
};

// Elements times width, or nothing where the product of the sizes overflows, zeros left out as torch does.
std::optional<uint64_t> bytes_of(const SafetensorsEntry& entry) {
  int64_t bytes = static_cast<int64_t>(c10::elementSize(entry.dtype));
  bool empty = false;
  for (const int64_t size : entry.shape) {
    empty = empty || size == 0;
    if (size != 0 && __builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return empty ? 0 : static_cast<uint64_t>(bytes);
}

}  // namespace

SafetensorsHeader read_safetensors_header(const FileReader& file) {
  if (file.size() < 10) file.fail("is too short for a safetensors file", kCopyAgain);
  const uint64_t length = ByteCursor(file, 0, 8).unsigned_little_endian(8, "its header");
  if (length > kLargestHeader) {
    file.fail(fmt::format("is not a safetensors file (its header would have {} bytes)", length),
              "give another file");
  }
  if (!file.holds(8, length)) {
    file.fail(fmt::format("is cut short: its header has {} bytes, {} are there", length, file.size() - 8),
              kCopyAgain);
  }
  const std::string text = file.read_text(8, length);
  if (text.empty() || text[0] != '{')
    file.fail("is not a safetensors file (its header is not JSON)", "give another file");
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(text, &reader))
    file.fail("is damaged: its header " + reader.problem, kCopyAgain);

  std::vector<std::pair<const std::string, SafetensorsEntry>*> order;
  order.reserve(reader.header.tensors.size());
  for (auto& item : reader.header.tensors) order.push_back(&item);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::tie(a->second.begin, a->second.end) < std::tie(b->second.begin, b->second.end);
  });
  const uint64_t data = 8 + length;
  const uint64_t available = file.size() - data;
  uint64_t next = 0;
  for (auto* item : order) {
    SafetensorsEntry& entry = item->second;
    const std::optional<uint64_t> bytes = bytes_of(entry);
    if (!bytes)
      file.fail(fmt::format("is damaged: its header gives \"{}\" an impossible shape", shown(item->first)),
                kCopyAgain);
    if (entry.begin != next || entry.end < entry.begin) {
      file.fail(fmt::format("is damaged: the data of \"{}\" begin at {}, expected {}", shown(item->first),
                            entry.begin, next),
                kCopyAgain);
    }
    if (entry.end - entry.begin != *bytes) {
      file.fail(fmt::format("is damaged: \"{}\" {} of {} needs {} bytes, its data_offsets give {}",
                            shown(item->first), shape_text(entry.shape), dtype_text(entry.dtype), *bytes,
                            entry.end - entry.begin),
                kCopyAgain);
    }
    next = entry.end;
  }
  if (next > available) {
    file.fail(fmt::format("is cut short: its tensors have {} bytes, {} are there", next, available),
              kCopyAgain);
  }
  if (next < available) {
    file.fail(fmt::format("is damaged: {} bytes follow its last tensor", available - next), kCopyAgain);
  }
  for (auto* item : order) {
    item->second.begin += data;
    item->second.end += data;
  }
  return std::move(reader.header);
}

}  // namespace gaze::models
