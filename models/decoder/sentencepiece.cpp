#include "models/decoder/sentencepiece.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/decoder/small_file.h"
#include "modules/core/base64.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr const char* kGiveModel = "give the .model file that spm_train wrote";
constexpr std::string_view kSpace = "▁";

void check_status(const sentencepiece::util::Status& status, const char* expected) {
  check_that(status.ok(), "sentencepiece", expected, status.ok() ? "" : status.ToString());
}

// Why the library does not take a model, "" where it does. Its parts throw exceptions of their own.
std::string problem_of(sentencepiece::SentencePieceProcessor& processor, const std::string& model) {
  try {
    const sentencepiece::util::Status status = processor.LoadFromSerializedProto(model);
    return status.ok() ? "" : status.ToString();
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string without_spaces_around(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

}  // namespace

SentencePiece::SentencePiece(std::string model)
    : model_(std::move(model)), processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  const std::string problem = problem_of(*processor_, model_);
  check_that(problem.empty(), "sentencepiece", "a SentencePiece model", problem);
  const int end = processor_->eos_id(), start = processor_->bos_id(), pad = processor_->pad_id();
  check_that(end >= 0, "sentencepiece", "a model with an end-of-sentence piece", "one made with --eos_id=-1");
  specials_.end = end;
  specials_.pad = pad >= 0 ? pad : end;
  specials_.start = start >= 0 ? start : specials_.pad;
  specials_.unknown = processor_->unk_id();
}

SentencePiece::~SentencePiece() = default;
SentencePiece::SentencePiece(SentencePiece&&) noexcept = default;
SentencePiece& SentencePiece::operator=(SentencePiece&&) noexcept = default;

SentencePiece SentencePiece::from_file(const std::filesystem::path& path) {
  std::string model = read_small_file(path, kGiveModel);
  try {
    return SentencePiece(std::move(model));
  } catch (const ArgumentError& error) {
    throw FileError(path.string(), error.what(), kGiveModel);
  }
}

SentencePiece SentencePiece::from_json(const nlohmann::json& json) {
  const auto data = json.find("data");
  check_that(data != json.end() && data->is_string(), "sentencepiece", "a text \"data\"",
             data == json.end() ? "none" : data->type_name());
  std::optional<std::string> model = from_base64(data->get_ref<const std::string&>());
  check_that(model.has_value(), "sentencepiece", "base64 in \"data\"", "another text");
  return SentencePiece(std::move(*model));
}

nlohmann::json SentencePiece::to_json() const {
  return {{"kind", "sentencepiece"}, {"data", to_base64(model_)}};
}

int64_t SentencePiece::size() const {
  return processor_->GetPieceSize();
}

std::vector<int64_t> SentencePiece::encode(const std::string& text) const {
  std::vector<int> ids;
  check_status(processor_->Encode(text, &ids), "a text that can be encoded");
  return {ids.begin(), ids.end()};
}

bool SentencePiece::is_text(int64_t id) const {
  check_that(id >= 0 && id < size(), "sentencepiece", fmt::format("id in 0..{}", size() - 1),
             fmt::format("id {}", id));
  return !specials_.has(id) && !processor_->IsControl(static_cast<int>(id));
}

std::string SentencePiece::text_of(const std::vector<int>& ids) const {
  std::string text;
  check_status(processor_->Decode(ids, &text), "ids that can be decoded");
  return text;
}

std::string SentencePiece::decode(const std::vector<int64_t>& ids) const {
  std::vector<int> kept;
  for (const int64_t id : ids) {
    if (is_text(id)) kept.push_back(static_cast<int>(id));
  }
  return text_of(kept);
}

std::vector<TokenSpan> SentencePiece::words(const std::vector<int64_t>& ids) const {
  std::vector<TokenSpan> spans;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!is_text(ids[i])) continue;
    const std::string& piece = processor_->IdToPiece(static_cast<int>(ids[i]));
    const bool starts = piece.compare(0, kSpace.size(), kSpace) == 0;
    if (starts || spans.empty() || spans.back().last != i) spans.push_back({"", i, i});
    spans.back().last = i + 1;
  }
  for (TokenSpan& span : spans)
    span.text = without_spaces_around(text_of({ids.data() + span.first, ids.data() + span.last}));
  spans.erase(std::remove_if(spans.begin(), spans.end(), [](const TokenSpan& s) { return s.text.empty(); }),
              spans.end());
  return spans;
}

std::vector<std::vector<int64_t>> SentencePiece::phrases(const std::string& text) const {
  std::vector<std::vector<int64_t>> ways = {encode(" " + text)};
  std::vector<int64_t> at_start = encode(text);
  if (at_start != ways.front()) ways.push_back(std::move(at_start));
  return ways;
}

}  // namespace gaze::models
