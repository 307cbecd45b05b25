#pragma once

#include <string>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace simmesh::tidy {

// CommentBlock is a comment of one or more lines: the number of its first line, and its text
// without the marks, in one line.
struct CommentBlock {
  std::size_t line = 0;
  std::string text;
};

// comment_blocks returns the comments of a file of C++, Python (docstrings included), CMake, TOML
// or shell, in their order. Comments of neighbouring lines that begin in one column are one block.
std::vector<CommentBlock> comment_blocks(const SourceFile& file);

}  // namespace simmesh::tidy
