// Work on numbered things, shared among threads. Includes no torch.
#pragma once

#include <cstdint>
#include <functional>

namespace gaze::models {

// body(i) for each i in [0, count), in any order, on `threads` threads, this one among them; here done(n)
// after each of its own, n being how many have been begun. The first failure stops what is not begun and is
// thrown once all threads have ended.
void for_each_index(int64_t count, int64_t threads, const std::function<void(int64_t)>& body,
                    const std::function<void(int64_t)>& done = {});

}  // namespace gaze::models
