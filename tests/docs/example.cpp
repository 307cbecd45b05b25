#include "tests/docs/example.h"

#include <cstdlib>
#include <fmt/format.h>
#include <set>

#include "tests/temporary_folder.h"
#include "tests/tidy/source_tree.h"

namespace simmesh::tidy {

namespace {

std::string source_lines(const Example& example) {
  std::string source = fmt::format("#line {} \"{}\"\n", example.line, example.file);
  for (const std::string& line : example.code) source += line + "\n";
  return source;
}

std::string source_of(const std::vector<Example>& examples) {
  std::set<std::string> headers = {"tests/docs/example_context.h"};
  for (const Example& example : examples)
    if (SourceFile(example.file, "").is_header()) headers.insert(example.file);
  std::string source;
  for (const std::string& header : headers) source += fmt::format("#include \"{}\"\n", header);
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

std::string compile_errors(const std::vector<Example>& examples) {
  return errors_in(source_of(examples), SIMMESH_SOURCE_DIR);
}

std::string program_errors(const Example& program) {
  return errors_in(source_lines(program), SIMMESH_HEADERS);
}

}  // namespace simmesh::tidy
