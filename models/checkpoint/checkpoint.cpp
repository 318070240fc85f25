#include "models/checkpoint/checkpoint.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "models/checkpoint/pickled_checkpoint.h"
#include "models/checkpoint/safetensors.h"

namespace gaze::models {
namespace {

struct Other {
  std::string_view start;
  const char* problem;
  const char* next_step;
};

constexpr const char* kGiveCheckpoint = "give a .safetensors or .pth file";

const std::array<Other, 10> kOthers = {{
    {"version https://git-lfs", "is a Git LFS pointer, not the file itself", "run git lfs pull"},
    {"<!DOCTYPE", "is a web page, not a checkpoint", "download the file itself"},
    {"<!doctype", "is a web page, not a checkpoint", "download the file itself"},
    {"<html", "is a web page, not a checkpoint", "download the file itself"},
    {std::string_view("\x89HDF", 4), "is an HDF5 (Keras) file", kGiveCheckpoint},
    {std::string_view("\x1f\x8b", 2), "is compressed by gzip", "unpack it first"},
    {"BZh", "is compressed by bzip2", "unpack it first"},
    {std::string_view("\xfd"
                      "7zXZ",
                      5),
     "is compressed by xz", "unpack it first"},
    {std::string_view("\xff\xd8\xff", 3), "is a picture, not a checkpoint", kGiveCheckpoint},
    {std::string_view("\x89PNG", 4), "is a picture, not a checkpoint", kGiveCheckpoint},
}};

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool is_text(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || byte == '\n' || byte == '\r' || byte == '\t';
  });
}

Checkpoint read_as(const FileReader& file, CheckpointFormat format) {
  if (format == CheckpointFormat::safetensors) {
    Safetensors content = read_safetensors(file);
    return {format, std::move(content.tensors), std::move(content.metadata)};
  }
  return {format, read_pickled_state_dict(file, format), {}};
}

}  // namespace

CheckpointFormat checkpoint_format(const FileReader& file) {
  const std::string head = file.read_text(0, std::min<uint64_t>(file.size(), 512));
  for (const Other& other : kOthers) {
    if (starts_with(head, other.start)) file.fail(other.problem, other.next_step);
  }
  if (is_text(head)) file.fail("is text, not a checkpoint", kGiveCheckpoint);
  // A safetensors file starts with its header's length, whose bytes may look like any other start; its ninth
  // byte is '{'.
  if (head.size() > 8 && head[8] == '{') return CheckpointFormat::safetensors;
  if (starts_with(head, "PK\x03\x04") || starts_with(head, "PK\x05\x06")) return CheckpointFormat::torch_zip;
  if (head.size() > 1 && head[0] == '\x80' && head[1] >= 1 && head[1] <= 5)
    return CheckpointFormat::torch_legacy;
  if (head.size() > 262 && head.compare(257, 5, "ustar") == 0)
    file.fail("is a tar archive", "unpack it first");
  if (head.size() <= 8) file.fail("is too short for a checkpoint", kCopyAgain);
  file.fail("is no checkpoint gaze knows (safetensors, PyTorch .pth)", kGiveCheckpoint);
}

Checkpoint read_checkpoint(const std::filesystem::path& path) {
  const FileReader file(path);
  const CheckpointFormat format = checkpoint_format(file);
  try {
    return read_as(file, format);
  } catch (const c10::Error&) {  // every size was checked: only the allocator is left to fail
    file.fail("needs more memory than there is", "close other programs or use a larger machine");
  }
}

StateDict read_state_dict(const std::filesystem::path& path) {
  return read_checkpoint(path).tensors;
}

}  // namespace gaze::models
