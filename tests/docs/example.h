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

// header_errors returns the compiler's errors about the examples of headers; empty if they compile.
// Each becomes a function of its own, unless it defines something at namespace scope. Names that
// examples use without declaring them are declared in tests/docs/example_context.h, and for
// internal headers in tests/docs/header_context.h.
std::string header_errors(const std::vector<Example>& examples);

// page_errors returns those about the examples of pages, which see the public headers only.
std::string page_errors(const std::vector<Example>& examples);

// program_errors returns the compiler's errors about a whole program, which includes the headers of
// simmesh as users do.
std::string program_errors(const Example& program);

}  // namespace simmesh::tidy
