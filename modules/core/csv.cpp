#include "modules/core/csv.h"

#include <istream>
#include <utility>

namespace gaze {
namespace {

void append_field(std::string& record, const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) {
    record += field;
    return;
  }
  record += '"';
  for (const char c : field) {
    if (c == '"') record += '"';
    record += c;
  }
  record += '"';
}

}  // namespace

std::string csv_record(const std::vector<std::string>& fields) {
  std::string record;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) record += ',';
    append_field(record, fields[i]);
  }
  return record + "\r\n";
}

std::optional<std::vector<std::string>> CsvReader::next() {
  bytes_.clear();
  std::vector<std::string> fields;
  std::string field;
  bool quoted = false, begun = false;  // inside quotes; the field has a character or was quoted
  for (int next = stream_.get(); next != std::istream::traits_type::eof(); next = stream_.get()) {
    const char c = static_cast<char>(next);
    bytes_ += c;
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (stream_.peek() == '"') {
        bytes_ += static_cast<char>(stream_.get());
        field += '"';
      } else {
        quoted = false;
      }
    } else if (c == '"' && !begun) {
      quoted = begun = true;
    } else if (c == ',') {
      fields.push_back(std::exchange(field, {}));
      begun = false;
    } else if (c == '\n') {
      fields.push_back(std::move(field));
      return fields;
    } else if (c != '\r' || stream_.peek() != '\n') {
      field += c;
      begun = true;
    }
  }
  return std::nullopt;
}

}  // namespace gaze
