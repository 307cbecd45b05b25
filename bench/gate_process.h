#pragma once

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace simmesh {

// run_gate_process runs the program `simmesh` on a gate, discards its output and returns its exit
// status; -1 if it can't be started.
inline int run_gate_process(const std::string& gate) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::string words[] = {SIMMESH_PROGRAM, "run", gate};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  char* environment[] = {nullptr};
  pid_t child = 0;
  int fault =
      posix_spawn(&child, SIMMESH_PROGRAM, &files, nullptr, std::data(arguments), environment);
  posix_spawn_file_actions_destroy(&files);
  int status = 0;
  if (fault != 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// time_gate_process times a gate from the start of the process to its end, which is the time that a
// user waits.
inline void time_gate_process(benchmark::State& state, const std::string& gate) {
  while (state.KeepRunning()) {
    if (run_gate_process(gate) == 0) continue;
    state.SkipWithError("the gate doesn't pass");
    break;
  }
}

}  // namespace simmesh
