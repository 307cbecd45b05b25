#pragma once

#include <gsl/span>

#include "tools/commands.h"

namespace simmesh {

// AddSubcommand is a function that adds one subcommand to the program.
using AddSubcommand = void(CLI::App& program, int& status);

// run_program is a program of the given subcommands: it runs the one that the arguments name,
// prints to standard output and standard error, and returns the exit status: 0 if everything asked
// for holds, 1 if something doesn't, 2 if it can't run, 130 after Ctrl-C. argv[0] is ignored.
int run_program(gsl::span<AddSubcommand* const> subcommands, int argc, char** argv);

}  // namespace simmesh
