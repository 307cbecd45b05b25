#pragma once

#include <CLI/CLI.hpp>

namespace simmesh {

// Each function adds one subcommand to the program. A chosen subcommand runs while the command line
// is parsed, and sets the exit status: 0 if everything asked for holds, 1 if something doesn't. It
// raises if it can't run.
void add_run_command(CLI::App& program, int& status);
void add_explore_command(CLI::App& program, int& status);
void add_verify_command(CLI::App& program, int& status);
void add_merge_command(CLI::App& program, int& status);
void add_releases_command(CLI::App& program, int& status);
void add_validate_command(CLI::App& program, int& status);
void add_plan_command(CLI::App& program, int& status);
void add_replay_command(CLI::App& program, int& status);
void add_checkpoint_command(CLI::App& program, int& status);
void add_falsify_command(CLI::App& program, int& status);
void add_config_command(CLI::App& program, int& status);
void add_compose_command(CLI::App& program, int& status);
void add_report_command(CLI::App& program, int& status);
void add_doctor_command(CLI::App& program, int& status);

}  // namespace simmesh
