#include "apps/gaze/caption_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "apps/gaze/caption_reader.h"
#include "apps/gaze/command.h"
#include "modules/core/atomic_file.h"
#include "modules/core/error.h"

namespace gaze::apps {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kNextStep[] = "give another --out, or --overwrite to begin anew";

std::string text_of(const json& value, int indent = -1) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

// How two manifests differ in what matters: "with beam 5, not 3"; empty where they do not.
std::string difference(const json& there, const json& here) {
  if (!there.contains("model") || there["model"].value("sha256", "") != here.at("model").at("sha256"))
    return "by another model";
  json keys = there.value("options", json::object());
  keys.update(here.at("options"));
  std::string all;
  for (const auto& item : keys.items()) {
    const json before = there.value("options", json::object()).value(item.key(), json());
    const json now = here.at("options").value(item.key(), json());
    if (before == now) continue;
    all += fmt::format("{} {} {}, not {}", all.empty() ? "with" : ",", item.key(), text_of(before),
                       text_of(now));
  }
  return all;
}

}  // namespace

CaptionFile::CaptionFile(CaptionFileOptions options)
    : options_(std::move(options)), manifest_(options_.path.string() + ".manifest.json") {
  open();
  try {
    if (options_.overwrite && ::ftruncate(file_, 0) != 0) fail(errno);
    const uintmax_t whole = read_entries();
    const uintmax_t size = fs::file_size(options_.path);
    if (whole == 0 && size > 0) check_start();
    const bool captioned =
        std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return !entry.failed; });
    // First, so that a run that is refused leaves the file as it is.
    if (captioned) check_manifest();
    if (whole < size && ::ftruncate(file_, static_cast<off_t>(whole)) != 0) fail(errno);
    if (!captioned) write_manifest();
    if (whole == 0) append(caption_header(options_.format));
  } catch (...) {
    ::close(file_);
    throw;
  }
}

CaptionFile::~CaptionFile() {
  ::close(file_);
}

void CaptionFile::open() {
  std::error_code error;
  const fs::path& path = options_.path;
  const fs::file_status before = fs::status(path, error);
  if (fs::exists(before) && !fs::is_regular_file(before))
    throw FileError(path.string(), "is there already and is no file", "give another name");
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  const int opened = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (opened < 0) fail(errno);
  if (::flock(opened, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(opened);
    throw FileError(path.string(), "is being written by another gaze",
                    "wait for that to end, or give another --out");
  }
  if (file_ >= 0) ::close(file_);
  file_ = opened;
}

uintmax_t CaptionFile::read_entries() {
  std::ifstream stream(options_.path, std::ios::binary);
  try {
    CaptionReader reader(stream, options_.format, options_.best);
    uintmax_t whole = reader.header().size();
    while (std::optional<ReadCaption> picture = reader.next()) {
      whole += picture->bytes.size();
      Entry entry{std::move(picture->image), picture->failed, {}};
      if (entry.failed) entry.failed_lines = std::move(picture->bytes);
      entries_.push_back(std::move(entry));
    }
    return whole;
  } catch (const ArgumentError& error) {
    throw FileError(options_.path.string(), error.what(), kNextStep);
  }
}

// What has no whole line may be a first line that was torn, or somebody else's file.
void CaptionFile::check_start() const {
  std::ifstream stream(options_.path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (starts_captions(text, options_.format)) return;
  throw FileError(options_.path.string(), "holds something else than captions", kNextStep);
}

void CaptionFile::check_manifest() const {
  std::ifstream stream(manifest_);
  const json there = stream ? json::parse(stream, nullptr, false) : json();
  if (!there.is_object()) {
    warn(fmt::format("{}: is missing or damaged, so what made the captions that are there cannot be told",
                     manifest_.string()));
    return;
  }
  const std::string differ = difference(there, options_.manifest);
  if (differ.empty()) return;
  throw FileError(options_.path.string(), "has captions that were made " + differ, kNextStep);
}

void CaptionFile::write_manifest() const {
  write_atomically(manifest_, text_of(options_.manifest, 2) + "\n");
}

void CaptionFile::append(const std::string& lines) {
  size_t written = 0;
  while (written < lines.size()) {
    const ssize_t count = ::write(file_, lines.data() + written, lines.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    written += static_cast<size_t>(count);
  }
}

void CaptionFile::replace(const std::map<size_t, std::string>& lines) {
  write_atomically(options_.path, [&](std::ostream& out) {
    std::ifstream stream(options_.path, std::ios::binary);
    CaptionReader reader(stream, options_.format, options_.best);
    out << reader.header();
    for (size_t i = 0; i < entries_.size(); ++i) {
      const std::optional<ReadCaption> picture = reader.next();
      const auto other = lines.find(i);
      if (other != lines.end()) {
        out << other->second;
      } else if (picture) {
        out << picture->bytes;
      }
    }
  });
  open();
}

void CaptionFile::fail(int error) const {
  throw FileError(options_.path.string(), fmt::format("cannot be written ({})", std::strerror(error)),
                  "check the folder, its permissions and the free space");
}

}  // namespace gaze::apps
