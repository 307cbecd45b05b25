#pragma once

#include <string>
#include <vector>

namespace simmesh::tidy {

// Example is a piece of C++ in a page, or in a comment of a header.
struct Example {
  std::string file;
  std::size_t line = 0;  // of the first line of code
  std::vector<std::string> code;
};

// compile_errors returns the compiler's errors about examples; empty if they compile. Each becomes
// a function of its own, unless it defines something at namespace scope. Names that examples use
// without declaring them are declared in tests/docs/example_context.h.
std::string compile_errors(const std::vector<Example>& examples);

// program_errors returns the compiler's errors about a whole program, which includes the headers of
// simmesh as users do.
std::string program_errors(const Example& program);

}  // namespace simmesh::tidy
