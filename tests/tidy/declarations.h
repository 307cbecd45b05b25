#pragma once

#include <string>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace simmesh::tidy {

enum class DeclarationKind {
  name_space,
  type,      // a class, struct, union or enum with its body
  function,  // with its body; also a variable that is initialised by a lambda
  statement  // anything that ends with a semicolon: a declaration, a variable, a using
};

// Declaration is a declaration at namespace or class scope of a file. Its lines count from 1 and go
// from its first word to its closing brace or semicolon; comments above it don't belong to it.
struct Declaration {
  DeclarationKind kind = DeclarationKind::statement;
  std::string head;  // the text before the brace or semicolon
  std::size_t first_line = 0;
  std::size_t last_line = 0;
  std::vector<std::string> scopes;  // heads of the namespaces and types around it, outermost first
  bool in_type = false;             // whether the innermost scope is a type
  bool is_accessible = true;        // in no private or protected part of a type
};

// declarations finds the declarations of a clang-formatted C++ file by its braces, in the order in
// which they end. It doesn't parse C++; it knows only what the rules about sizes and comments need.
std::vector<Declaration> declarations(const SourceFile& file);

// without_template returns a head without template parameters and attributes at its start.
std::string_view without_template(std::string_view head);

// is_function_head is true if a head declares or defines a function, and not a variable, type,
// using or macro.
bool is_function_head(std::string_view head);

// qualified_name returns the name of a function head, as written: "f" or "A::f".
std::string qualified_name(std::string_view head);

}  // namespace simmesh::tidy
