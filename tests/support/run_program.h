// Runs a program as a person would and keeps what it said.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace gaze::test {

struct ProgramResult {
  int status = -1;  // exit status; 128 + signal for a killed program
  std::string out, err;
};

struct ProgramOptions {
  unsigned user = 0;  // run as this user id, for tests of permissions; 0: as the caller
};

// A program that runs in the background; its output goes to files.
class Program {
 public:
  Program(const std::vector<std::string>& command, const ProgramOptions& options = {}) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const std::string out = (folder_.path() / "out").string(), err = (folder_.path() / "err").string();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(::open(out.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600), STDOUT_FILENO);
      ::dup2(::open(err.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600), STDERR_FILENO);
      ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
      if (options.user != 0 && (::setgid(options.user) != 0 || ::setuid(options.user) != 0)) ::_exit(126);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
  }
  ~Program() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Nothing where it has ended: 0 would be all of this process's group.
  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  }

  // True while it runs; the exit status is kept when it has ended.
  bool running() {
    if (pid_ > 0 && ::waitpid(pid_, &wait_status_, WNOHANG) == pid_) pid_ = 0;
    return pid_ > 0;
  }

  ProgramResult wait() {
    if (pid_ > 0) ::waitpid(pid_, &wait_status_, 0);
    pid_ = 0;
    ProgramResult result;
    result.status = WIFEXITED(wait_status_) ? WEXITSTATUS(wait_status_) : 128 + WTERMSIG(wait_status_);
    result.out = text(folder_.path() / "out");
    result.err = text(folder_.path() / "err");
    return result;
  }

 private:
  static std::string text(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  TemporaryFolder folder_;
  pid_t pid_ = 0;
  int wait_status_ = 0;
};

inline ProgramResult run_program(const std::vector<std::string>& command,
                                 const ProgramOptions& options = {}) {
  return Program(command, options).wait();
}

}  // namespace gaze::test
