// The file that many pictures' captions are written to, and that a later run goes on with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/gaze/caption_output.h"

namespace gaze::apps {

struct CaptionFileOptions {
  std::filesystem::path path;
  CaptionFormat format = CaptionFormat::jsonl;  // or csv
  int64_t best = 1;                             // captions a picture has, at most
  // {"model": {"file", "sha256"}, "options": {...}, ...}: sum and options are the same of all runs that add
  // to a file.
  nlohmann::json manifest;
  bool overwrite = false;  // else what is there is kept
};

// Everything is written behind what is there, so that a run that was killed has lost no more than its last
// line. What made the captions is kept beside them, in PATH.manifest.json, so that captions of another model
// or search are not taken for this run's.
class CaptionFile {
 public:
  // A picture in the file.
  struct Entry {
    std::string image;
    bool failed = false;
    std::string failed_lines;  // as they are in the file; empty for a picture with captions
  };

  // Opens the file, makes it with its folders where there is none, and drops a torn last line. Throws
  // FileError: it cannot be written, is another run's at this moment, holds something else than captions, or
  // captions that were made otherwise than the manifest says. (Without a manifest that cannot be told, and is
  // warned of.)
  explicit CaptionFile(CaptionFileOptions options);
  ~CaptionFile();
  CaptionFile(const CaptionFile&) = delete;
  CaptionFile& operator=(const CaptionFile&) = delete;

  // What was there, in the file's order.
  const std::vector<Entry>& entries() const { return entries_; }

  // Adds lines at the end, and hands them to the system.
  void append(const std::string& lines);

  // Puts other lines in the place of some entries. The file is written anew beside the old one, which it then
  // replaces.
  void replace(const std::map<size_t, std::string>& lines);

  const std::filesystem::path& path() const { return options_.path; }

 private:
  void open();
  void check_manifest() const;
  void write_manifest() const;
  uintmax_t read_entries();  // returns how many bytes are whole
  void check_start() const;
  [[noreturn]] void fail(int error) const;

  CaptionFileOptions options_;
  std::filesystem::path manifest_;  // its file
  std::vector<Entry> entries_;
  int file_ = -1;
};

}  // namespace gaze::apps
