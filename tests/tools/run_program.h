#pragma once

#include <array>
#include <cstdio>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>

namespace simmesh::testing {

// ProgramRun is the output of one run of the program on both streams, and its exit status.
struct ProgramRun {
  int status = -1;
  std::string output;

  // last_line returns the last line without its newline.
  std::string last_line() const {
    std::size_t end = output.find_last_not_of('\n');
    if (end == output.npos) return {};
    std::size_t begin = output.rfind('\n', end);
    return output.substr(begin == output.npos ? 0 : begin + 1, end - (begin + 1) + 1);
  }
  // line_count counts the newlines.
  std::size_t line_count() const {
    std::size_t count = 0;
    for (char letter : output) count += letter == '\n';
    return count;
  }
};

// run_program runs simmesh, or another program, in a folder, with arguments as a shell takes them.
// A status of -1 means that a signal ended it.
inline ProgramRun run_program(const std::string& arguments, const std::string& folder = ".",
                              const std::string& program = SIMMESH_PROGRAM) {
  ProgramRun run;
  std::string command = "cd '" + folder + "' && '" + program + "' " + arguments + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return run;
  std::array<char, 4096> buffer;
  while (std::size_t bytes = std::fread(buffer.data(), 1, buffer.size(), pipe))
    run.output.append(buffer.data(), bytes);
  int status = pclose(pipe);
  if (WIFEXITED(status)) run.status = WEXITSTATUS(status);
  return run;
}

// expect_refused expects exit status 2 and one line, "simmesh: ...", that contains the phrase.
inline void expect_refused(const std::string& arguments, const std::string& phrase) {
  ProgramRun run = run_program(arguments);
  EXPECT_EQ(run.status, 2) << arguments << ": " << run.output;
  EXPECT_EQ(run.line_count(), 1u) << run.output;
  EXPECT_EQ(run.output.rfind("simmesh: ", 0), 0u) << run.output;
  EXPECT_NE(run.output.find(phrase), run.output.npos) << run.output;
}

}  // namespace simmesh::testing
