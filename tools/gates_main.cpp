#include "tools/program.h"

// A part of `simmesh` that runs gates, and is built in two thirds of the time.
int main(int argc, char** argv) {
  simmesh::AddSubcommand* const subcommands[] = {simmesh::add_run_command};
  return simmesh::run_program(subcommands, argc, argv);
}
