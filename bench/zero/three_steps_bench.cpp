#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace simmesh {
namespace {

// run_gate runs a program, discards its output and returns its exit status; -1 if it can't
// be started.
int run_gate(const std::string& program, const std::string& gate) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::string words[] = {program, "run", gate};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  char* environment[] = {nullptr};
  pid_t child = 0;
  int fault =
      posix_spawn(&child, program.c_str(), &files, nullptr, std::data(arguments), environment);
  posix_spawn_file_actions_destroy(&files);
  int status = 0;
  if (fault != 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// Times a test of three steps of ZeRO stage 3 on two ranks, from the start of the process to its
// end, which is the time that a person waits.
void zero3_three_steps(benchmark::State& state) {
  while (state.KeepRunning()) {
    if (run_gate(SIMMESH_PROGRAM, SIMMESH_SOURCE_DIR "/bench/zero/three_steps.toml") == 0) continue;
    state.SkipWithError("the gate doesn't pass");
    break;
  }
}
BENCHMARK(zero3_three_steps)
    ->ArgName("ranks")
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace simmesh
