#include "core/memory/memory_reserve.h"
#include "tools/command.h"

// Made before the objects of other sources, which allocate.
[[gnu::init_priority(101)]] const simmesh::MemoryReserve reserve(2);

int main(int argc, char** argv) { return simmesh::run_command(argc, argv); }
