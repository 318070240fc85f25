// Which continuations of its hypotheses a beam keeps at a step. Includes no torch.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace gaze::models {

// One more token after a row of the step before.
struct Choice {
  int64_t token = 0;
  int64_t parent = 0;                                       // that row
  double log_probability = 0;                               // of the token, the decoder's own
  double total = -std::numeric_limits<double>::infinity();  // of all tokens so far, as the search ranks them

  bool operator==(const Choice& other) const { return token == other.token && parent == other.parent; }
};

// A choice that has not been made yet.
struct Candidate {
  Choice choice;
  double key = 0;        // what is chosen by
  int32_t distance = 0;  // tokens to go until all forced phrases are said
};

struct Kept {
  std::vector<Choice> going;  // best total first
  std::vector<Choice> ended;  // with the end token
};

// Highest key first; equal ones by row, then by token.
void sort_candidates(std::vector<Candidate>& candidates);

// Of sorted candidates the first of a row.
std::optional<Choice> first_of_row(const std::vector<Candidate>& candidates, int64_t row);

// Of sorted candidates the best `places` that go on, places being dealt out in turn to the best of those with
// equally far to go, nearest first; and those that end and are among the best `places` of theirs. `greedy` is
// kept in any case, in the last place if in no better one.
Kept keep_best(const std::vector<Candidate>& candidates, int64_t places, int64_t end,
               const std::optional<Choice>& greedy);

// Of sorted candidates the best `places` of both kinds, dealt out in the same way.
Kept keep_best_of_both(const std::vector<Candidate>& candidates, int64_t places, int64_t end);

}  // namespace gaze::models
