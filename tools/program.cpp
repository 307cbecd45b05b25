#include "tools/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fmt/core.h>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/check/json_fault.h"
#include "core/check/one_line.h"
#include "core/check/repro.h"
#include "core/check/scarcity.h"
#include "core/memory/memory_reserve.h"
#include "tools/crew/crew.h"

namespace simmesh {

namespace {

constexpr int cannot_run = 2;

// Subcommands that only the Python package has.
constexpr std::array<std::string_view, 5> of_python = {"accelerate", "deepspeed", "museum",
                                                       "record", "torchrun"};

constexpr const char* about_python =
    "Cases are recorded from PyTorch by the Python package: python -m simmesh record. It also has "
    "museum, torchrun, accelerate, deepspeed, validate --python and validate --pytorch";

// Prints the text on one line, of a crew on its first process.
int refuse(std::string text) {
  if (Crew::present() != nullptr && Crew::present()->rank() != 0) return cannot_run;
  for (char& letter : text)
    if (letter == '\n') letter = ' ';
  // fmt would raise if standard error can't be written to.
  std::fputs(("simmesh: " + one_line(text) + "\n").c_str(), stderr);
  return cannot_run;
}

std::string names_of_subcommands(const CLI::App& app) {
  std::string names;
  std::vector<const CLI::App*> all = app.get_subcommands([](const CLI::App*) { return true; });
  for (std::size_t i = 0; i < all.size(); ++i)
    names += (i == 0 ? "" : i + 1 == all.size() ? " or " : ", ") + all[i]->get_name();
  return names;
}

// Returns the arguments that a subcommand doesn't know, in the order given; all words after an
// unknown option are left over too where a required one is missing, so it ends with that option.
std::string unknown_arguments(const CLI::App& app) {
  std::string text;
  for (const std::string& word : app.remaining()) {
    text += (text.empty() ? "" : " ") + word;
    if (word.starts_with('-')) return "expected a known option, got " + word;
  }
  return text.empty() ? text : "expected no further argument, got " + text;
}

// Describes what is wrong with the arguments. The library doesn't say which subcommand came in the
// place of one that it knows, and names a missing argument where an option is misspelt.
std::string problem_of(const CLI::App& program, const CLI::ParseError& error, int argc,
                       char** argv) {
  const CLI::App* app = &program;
  int depth = 1;
  for (; !app->get_subcommands().empty(); ++depth) app = app->get_subcommands().front();
  if (app->get_require_subcommand_min() == 0 || depth >= argc) {
    bool is_about_others = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                           dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    std::string unknown = is_about_others ? unknown_arguments(*app) : "";
    return unknown.empty() ? error.what() : unknown;
  }
  std::string text =
      fmt::format("expected a subcommand ({}), got {}", names_of_subcommands(*app), argv[depth]);
  bool is_of_python =
      depth == 1 && std::find(of_python.begin(), of_python.end(), argv[depth]) != of_python.end();
  if (is_of_python) text += fmt::format(". {}", about_python);
  return text;
}

int run_subcommand(gsl::span<AddSubcommand* const> subcommands, int argc, char** argv) {
  int status = 0;
  CLI::App program(
      "simmesh runs every rank of a device mesh in one process and compares results bit for bit.",
      "simmesh");
  program.require_subcommand(1);
  program.footer(about_python);
  program.set_version_flag("--version", fmt::format("simmesh {}", version()));
  for (AddSubcommand* add : subcommands) add(program, status);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return refuse(problem_of(program, error, argc, argv));
    status = program.exit(error);
  }
  // Help is printed by the library, to the stream.
  errno = 0;
  if (!std::cout.flush() || std::fflush(stdout) != 0)
    return refuse(fmt::format("expected to write to standard output, got an error: {}",
                              std::generic_category().message(errno)));
  return status;
}

// A crew prints once, so it must share the jobs of the command.
std::string problem_of_crew(int argc, char** argv) {
  if (Crew::present() == nullptr || argc < 2) return "";
  std::string name = argv[1];
  constexpr std::string_view sharing[] = {"run", "explore", "verify", "validate", "compose"};
  bool shares = std::find(std::begin(sharing), std::end(sharing), name) != std::end(sharing);
  if (shares || name.starts_with('-')) return "";
  return fmt::format(
      "expected run, explore, verify, validate or compose in {} processes of MPI, got {}",
      Crew::present()->size(), name);
}

std::string reason_of_shortage() {
  std::string_view reason = Scarcity::reason();
  return reason.empty() ? "not enough memory" : std::string(reason);
}

}  // namespace

int run_program(gsl::span<AddSubcommand* const> subcommands, int argc, char** argv) {
  Scarcity::clear();
  MemoryReserve reserve(cannot_run);
  // A file that becomes too large for the process is an error of the write, with its reason.
  std::signal(SIGXFSZ, SIG_IGN);
  if (std::string problem = problem_of_crew(argc, argv); !problem.empty()) return refuse(problem);
  try {
    int status = run_subcommand(subcommands, argc, argv);
    if (status == cannot_run || Scarcity::reason().empty()) return status;
    return refuse("the results aren't complete: " + reason_of_shortage());
  } catch (const std::bad_alloc&) {
    return refuse(reason_of_shortage());
  } catch (const std::exception& error) {
    return refuse(json_fault(error.what()));
  }
}

}  // namespace simmesh
