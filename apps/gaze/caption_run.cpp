#include "apps/gaze/caption_run.h"

#include <fmt/format.h>

#include <deque>
#include <iostream>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "apps/gaze/command.h"
#include "modules/core/number_text.h"

namespace gaze::apps {
namespace {

constexpr size_t kReplacedAtOnce = 1000;  // lines that are kept in memory, and lost where the run is killed

// Which of the pictures a file has, by their places.
struct KnownPictures {
  int64_t captioned = 0;
  std::map<size_t, size_t> failed;  // entry of the file -> place
  std::vector<size_t> missing;
};

// Pictures that are shown alike, as their paths are no UTF-8, are in the file in the order they have in the
// list.
KnownPictures find_known(const CaptionRun& run, const CaptionFile& file) {
  std::unordered_map<std::string, std::deque<size_t>> entries;
  for (size_t i = 0; i < file.entries().size(); ++i) entries[file.entries()[i].image].push_back(i);
  KnownPictures known;
  for (size_t place = 0; place < run.pictures.size(); ++place) {
    const auto found = entries.find(shown_path(run.pictures[place]));
    if (found == entries.end() || found->second.empty()) {
      known.missing.push_back(place);
      continue;
    }
    const size_t entry = found->second.front();
    found->second.pop_front();
    if (file.entries()[entry].failed) {
      known.failed[entry] = place;
    } else {
      ++known.captioned;
    }
  }
  return known;
}

void retry_failed(const CaptionRun& run, const std::map<size_t, size_t>& failed, CaptionFile& file) {
  std::vector<size_t> entries, places;
  for (const auto& [entry, place] : failed) {
    entries.push_back(entry);
    places.push_back(place);
  }
  CaptionBatches batches(run.captioner, run.plan, run.pictures, std::move(places));
  std::map<size_t, std::string> changed;  // entry -> lines
  auto next = entries.begin();
  for (auto outcomes = batches.next(); !outcomes.empty(); outcomes = batches.next()) {
    for (const CaptionOutcome& outcome : outcomes) {
      run.tally.add(outcome);
      std::string lines = caption_lines(outcome, run.style);
      const size_t entry = *next++;
      if (lines != file.entries()[entry].failed_lines) changed[entry] = std::move(lines);
    }
    if (changed.size() >= kReplacedAtOnce) file.replace(std::exchange(changed, {}));
  }
  if (!changed.empty()) file.replace(changed);
}

void add_missing(const CaptionRun& run, const std::vector<size_t>& missing, CaptionFile& file) {
  if (missing.empty()) return;
  // The first batch holds what it would hold had no run been killed in it, as the last digits depend on that;
  // what the file has of it is not written again.
  const size_t batch = static_cast<size_t>(run.plan.batch), first = missing.front();
  size_t unwanted = first % batch;
  std::vector<size_t> places(unwanted);
  std::iota(places.begin(), places.end(), first - unwanted);
  places.insert(places.end(), missing.begin(), missing.end());
  CaptionBatches batches(run.captioner, run.plan, run.pictures, std::move(places));
  for (auto outcomes = batches.next(); !outcomes.empty(); outcomes = batches.next()) {
    std::string lines;
    for (const CaptionOutcome& outcome : outcomes) {
      if (unwanted > 0) {
        --unwanted;
        continue;
      }
      lines += caption_lines(outcome, run.style);
      run.tally.add(outcome);
    }
    file.append(lines);
  }
}

}  // namespace

void print_captions(const CaptionRun& run) {
  std::vector<size_t> places(run.pictures.size());
  std::iota(places.begin(), places.end(), size_t{0});
  CaptionBatches batches(run.captioner, run.plan, run.pictures, std::move(places));
  std::cout << caption_header(run.style.format);
  for (auto outcomes = batches.next(); !outcomes.empty(); outcomes = batches.next()) {
    for (const CaptionOutcome& outcome : outcomes) {
      std::cout << caption_lines(outcome, run.style);
      run.tally.add(outcome);
    }
    flush_output();
  }
}

void write_captions(const CaptionRun& run, CaptionFile& file) {
  const KnownPictures known = find_known(run, file);
  run.tally.add_known(known.captioned);
  if (known.captioned > 0 || !known.failed.empty()) {
    warn(fmt::format("{}: has {} of {} pictures; {} that failed are tried again", file.path().string(),
                     grouped(known.captioned), grouped(static_cast<int64_t>(run.pictures.size())),
                     grouped(static_cast<int64_t>(known.failed.size()))));
  }
  if (!known.failed.empty()) retry_failed(run, known.failed, file);
  add_missing(run, known.missing, file);
}

}  // namespace gaze::apps
