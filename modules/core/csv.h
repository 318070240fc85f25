// Tables as comma-separated values (RFC 4180). Includes no torch.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace gaze {

// The fields with a comma between, ended by CR LF. A field that holds a comma, a quote or a line break is
// quoted, and quotes in it are doubled; nothing else is changed, UTF-8 stays UTF-8.
std::string csv_record(const std::vector<std::string>& fields);

// The records of a file, one after the other. Lines may end in CR LF or LF; quoted fields hold line breaks.
class CsvReader {
 public:
  // The stream is read to its end, and must live as long.
  explicit CsvReader(std::istream& stream) : stream_(stream) {}

  // The next record; nothing at the end. A last record without its line break is torn, and is none.
  std::optional<std::vector<std::string>> next();

  // The bytes of the last record, its line break included.
  const std::string& bytes() const { return bytes_; }

 private:
  std::istream& stream_;
  std::string bytes_;
};

}  // namespace gaze
