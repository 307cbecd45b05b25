#pragma once

#include <string>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace simmesh::tidy {

enum class DeclarationKind {
  name_space,
  type,      // a class, struct, union or enum with its body
  function,  // with its body; also a lambda that a variable starts with
  statement  // anything that ends with a semicolon: a declaration, a variable, a using
};

// Declaration is what stands at namespace or class scope of a file. Lines count from 1 and go from
// the first word to the closing brace or semicolon; comments above don't belong to it.
struct Declaration {
  DeclarationKind kind = DeclarationKind::statement;
  std::string head;  // the text before the brace or semicolon
  std::size_t first_line = 0;
  std::size_t last_line = 0;
  std::vector<std::string> scopes;  // heads of the namespaces and types around it, outermost first
  bool in_type = false;             // the innermost scope is a type
};

// declarations reads a clang-formatted C++ file by its braces, in the order in which declarations
// end. It is no parser of C++: it knows as much as the rules about sizes and comments need.
std::vector<Declaration> declarations(const SourceFile& file);

// without_template returns a head without the template parameters and attributes that it may begin
// with.
std::string_view without_template(std::string_view head);

// is_function_head says whether a head declares or defines a function: not a variable, type, using
// or macro.
bool is_function_head(std::string_view head);

}  // namespace simmesh::tidy
