#pragma once

namespace simmesh {

// run_command is the program `simmesh`, with all subcommands: see run_program.
int run_command(int argc, char** argv);

}  // namespace simmesh
