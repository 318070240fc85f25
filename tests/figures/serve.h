// What the workers of the figures have in common: a process that does one piece of work each time it is
// asked.
#pragma once

#include <ATen/Parallel.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace gaze {

class Stopwatch {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// What answers a request.
using Answer = std::function<nlohmann::json(const nlohmann::json& request)>;

// `make` builds the model; then each line of stdin, a JSON object, is answered by one of stdout, until stdin
// ends. The program's argument is the number of threads. Returns the exit status.
inline int serve(int count, char** arguments, const std::function<Answer()>& make) {
  const int threads = count == 2 ? std::atoi(arguments[1]) : 0;
  if (threads < 1) {
    std::cerr << "usage: " << arguments[0] << " THREADS < REQUESTS\n";
    return 2;
  }
  try {
    at::set_num_threads(threads);
    const Answer answer = make();
    for (std::string line; std::getline(std::cin, line);)
      std::cout << answer(nlohmann::json::parse(line)) << std::endl;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}

}  // namespace gaze
