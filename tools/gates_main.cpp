#include "core/memory/memory_reserve.h"
#include "tools/program.h"

// Made before the objects of other sources, which allocate.
[[gnu::init_priority(101)]] const simmesh::MemoryReserve reserve(2);

// A part of `simmesh` that runs gates, and is built in two thirds of the time.
int main(int argc, char** argv) {
  simmesh::AddSubcommand* const subcommands[] = {simmesh::add_run_command};
  return simmesh::run_program(subcommands, argc, argv);
}
