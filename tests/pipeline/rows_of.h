#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "pipeline/schedule/row.h"

namespace simmesh::testing {

// rows_of reads one row a text, texts_of writes them.
inline pipeline::Rows rows_of(std::initializer_list<const char*> texts) {
  pipeline::Rows rows;
  for (const char* text : texts) rows.push_back(pipeline::parse_row(text));
  return rows;
}

inline std::vector<std::string> texts_of(const pipeline::Rows& rows) {
  std::vector<std::string> texts;
  for (const pipeline::Row& row : rows) texts.push_back(pipeline::to_string(row));
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace simmesh::testing
