#include "models/data/date_pairs.h"

#include <fmt/format.h>

#include "models/data/split_by_hash.h"
#include "modules/core/error.h"
#include "modules/core/random.h"

namespace gaze::models {
namespace {

constexpr uint64_t kDraw = 106;  // the random stream

void check(const DatePairOptions& options) {
  if (options.count < 0)
    throw ArgumentError(fmt::format("[date_pairs] expected count of 0 or more; got count {}", options.count));
  if (options.first_year < 1 || options.last_year > 9999 || options.first_year > options.last_year) {
    throw ArgumentError(fmt::format("[date_pairs] expected years within 1..9999, first to last; got {}..{}",
                                    options.first_year, options.last_year));
  }
}

}  // namespace

std::vector<TextPair> date_pairs(const DatePairOptions& options) {
  check(options);
  const std::vector<DateForm>& forms = date_forms();
  const int64_t first = day_number({options.first_year, 1, 1});
  const int64_t last = day_number({options.last_year, 12, 31});
  std::vector<TextPair> pairs;
  for (int64_t i = 0; i < options.count; ++i) {
    Random random({options.seed, kDraw, static_cast<uint64_t>(options.split), static_cast<uint64_t>(i)});
    for (;;) {
      const Date date = date_of(random.between(first, last));
      const DateForm& form = forms[static_cast<size_t>(random.below(static_cast<int64_t>(forms.size())))];
      if (!suits(form, date) || split_by_hash(write_date(date, form).text) != options.split) continue;
      pairs.push_back(date_pair(date, form));
      break;
    }
  }
  return pairs;
}

}  // namespace gaze::models
