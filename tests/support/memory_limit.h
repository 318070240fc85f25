// While it lives, the process can take only so much more address space: a read that believes a lying length
// fails.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace gaze::test {

class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t more_bytes) {
    ::getrlimit(RLIMIT_AS, &old_);
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const uint64_t used = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    if (used > kSanitized) return;
    rlimit limit = old_;
    limit.rlim_cur = used + more_bytes;
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_AS, &old_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  static constexpr uint64_t kSanitized = uint64_t{1} << 40;  // a sanitizer reserves terabytes: no limit then

  rlimit old_{};
};

}  // namespace gaze::test
