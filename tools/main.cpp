#include "tools/command.h"

int main(int argc, char** argv) { return simmesh::run_command(argc, argv); }
