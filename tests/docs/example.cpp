#include "tests/docs/example.h"

#include <cstdlib>
#include <fmt/format.h>
#include <set>

#include "tests/temporary_folder.h"
#include "tests/tidy/public_headers.h"

namespace simmesh::tidy {

namespace {

std::string source_lines(const Example& example) {
  std::string source = fmt::format("#line {} \"{}\"\n", example.line, example.file);
  for (const std::string& line : example.code) source += line + "\n";
  return source;
}

std::string functions_of(const std::vector<Example>& examples) {
  std::string source;
  std::size_t number = 0;
  for (const Example& example : examples) {
    bool is_definition = example.code.front().substr(0, 7) == "inline ";
    source += fmt::format("namespace simmesh::examples::number_{} {{\n", number++);
    if (!is_definition) source += "void example() {\n";
    source += source_lines(example);
    source += is_definition ? "}\n" : "}\n}\n";
  }
  return source;
}

// Returns includes of the public headers and of the names that examples use, with the text before
// and behind each path of a public header.
std::string context(std::string_view before, std::string_view behind) {
  std::string source;
  for (const std::string& header : public_headers())
    source += fmt::format("#include {}{}{}\n", before, header, behind);
  return source + "#include \"" SIMMESH_SOURCE_DIR "/tests/docs/example_context.h\"\n";
}

std::string errors_in(const std::string& source, const std::string& include_folder) {
  testing::TemporaryFolder folder;
  std::string file = folder.write("examples.cpp", source);
  std::string log = (folder.path() / "log").string();
  std::string command =
      fmt::format("{} -std=c++20 -fsyntax-only -w -I '{}' -isystem '{}' '{}' > '{}' 2>&1",
                  SIMMESH_COMPILER, include_folder, SIMMESH_EIGEN, file, log);
  int status = std::system(command.c_str());
  std::string text = folder.read("log");
  return status == 0 || !text.empty() ? text : fmt::format("status {}", status);
}

}  // namespace

std::string header_errors(const std::vector<Example>& examples) {
  std::set<std::string> headers = {"tests/docs/header_context.h"};
  for (const Example& example : examples) headers.insert(example.file);
  std::string source = context("\"", "\"");
  for (const std::string& header : headers) source += fmt::format("#include \"{}\"\n", header);
  return errors_in(source + functions_of(examples), SIMMESH_SOURCE_DIR);
}

std::string page_errors(const std::vector<Example>& examples) {
  return errors_in(context("<simmesh/", ">") + functions_of(examples), SIMMESH_HEADERS);
}

std::string program_errors(const Example& program) {
  return errors_in(source_lines(program), SIMMESH_HEADERS);
}

}  // namespace simmesh::tidy
