#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fmt/core.h>
#include <new>
#include <string>

#include "core/check/repro.h"
#include "tools/commands.h"

namespace {

constexpr int cannot_run = 2;

// Prints the text on one line.
int refuse(std::string text) {
  for (char& letter : text)
    if (letter == '\n') letter = ' ';
  // fmt would throw if standard error can't be written to.
  std::fputs(("simmesh: " + text + "\n").c_str(), stderr);
  return cannot_run;
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  try {
    CLI::App program(
        "simmesh runs every rank of a device mesh in one process and compares results bit for bit.",
        "simmesh");
    program.require_subcommand(1);
    program.set_version_flag("--version", fmt::format("simmesh {}", simmesh::version()));
    simmesh::add_run_command(program, status);
    simmesh::add_explore_command(program, status);
    simmesh::add_verify_command(program, status);
    simmesh::add_releases_command(program, status);
    simmesh::add_validate_command(program, status);
    simmesh::add_plan_command(program, status);
    simmesh::add_replay_command(program, status);
    simmesh::add_checkpoint_command(program, status);
    simmesh::add_doctor_command(program, status);
    try {
      program.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return program.exit(error);
      if (program.get_subcommands().empty() && argc > 1)
        return refuse(
            std::string("expected a subcommand (run, explore, verify, releases, validate, plan, "
                        "replay, checkpoint or doctor), got ") +
            argv[1]);
      return refuse(error.what());
    }
    if (std::fflush(stdout) != 0)
      return refuse("expected to write to standard output, got an error");
  } catch (const std::bad_alloc&) {
    return refuse("not enough memory");
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
  return status;
}
