#pragma once

#include <CLI/CLI.hpp>

namespace simmesh {

// Each function adds one subcommand to the program. When it was chosen it runs while the command
// line is parsed, and leaves the exit status: 0 where all that was asked holds, 1 where it ran and
// something doesn't. What can't run throws.
void add_run_command(CLI::App& program, int& status);
void add_explore_command(CLI::App& program, int& status);
void add_verify_command(CLI::App& program, int& status);
void add_plan_command(CLI::App& program, int& status);
void add_doctor_command(CLI::App& program, int& status);

}  // namespace simmesh
