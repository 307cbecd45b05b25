#pragma once

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/core.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "tests/temporary_folder.h"

namespace simmesh::testing {

// ProgramLimits are what a program may have: resources of setrlimit with their limits, and
// variables of its environment, such as those of tests/scarcity/refusing_calls.cpp.
struct ProgramLimits {
  std::vector<std::pair<int, rlim_t>> resources = {};
  std::vector<std::pair<std::string, std::string>> environment = {};

  // text describes the limits in a failure of a test.
  std::string text() const {
    std::string text;
    for (const auto& [resource, limit] : resources)
      text += fmt::format("resource {} = {} ", resource, limit);
    for (const auto& [name, value] : environment) text += fmt::format("{}={} ", name, value);
    return text;
  }
};

// LimitedRun is the end of a program that ran with limits: its exit status and what it printed. A
// status below 0 is the number of the signal that ended it.
struct LimitedRun {
  int status = 0;
  std::string output, errors;
};

// run_limited runs the program `simmesh` with limits in a folder, for at most 60 seconds, after
// which SIGKILL ends it.
inline LimitedRun run_limited(const std::vector<std::string>& arguments,
                              const ProgramLimits& limits, const std::string& folder) {
  TemporaryFolder streams;
  std::string output = (streams.path() / "out").string(),
              errors = (streams.path() / "err").string();
  std::vector<char*> words = {const_cast<char*>(SIMMESH_PROGRAM)};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = fork();
  if (child == 0) {
    bool fits = chdir(folder.c_str()) == 0;
    dup2(::open(output.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    dup2(::open(errors.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    for (const auto& [name, value] : limits.environment) setenv(name.c_str(), value.c_str(), 1);
    for (const auto& [resource, value] : limits.resources) {
      rlimit limit{value, value};
      fits &= setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0;
    }
    if (fits) execv(SIMMESH_PROGRAM, words.data());
    _exit(127);
  }
  int status = 0;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), streams.read("out"),
          streams.read("err")};
}

}  // namespace simmesh::testing
