#pragma once

namespace simmesh {

// run_command is the program `simmesh`: it runs the subcommand that the arguments name, prints to
// standard output and standard error, and returns the exit status: 0 if everything asked for holds,
// 1 if something doesn't, 2 if it can't run, 130 after Ctrl-C. argv[0] is ignored.
int run_command(int argc, char** argv);

}  // namespace simmesh
