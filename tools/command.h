#pragma once

#include <string>

namespace simmesh {

// run_command is the program `simmesh`, with all subcommands: see run_program.
int run_command(int argc, char** argv);

// page_of_data returns the page of a report for its data as JSON, for the Python package. Raises a
// ValueError for another text.
std::string page_of_data(const std::string& data);

}  // namespace simmesh
