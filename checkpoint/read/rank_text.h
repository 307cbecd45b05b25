#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "checkpoint/catalog/box.h"

namespace simmesh::checkpoint {

// RankTextWriter writes integers, texts and boxes into one text that a rank passes to others, and
// RankTextReader reads them in the same order. Small integers take one byte, and texts may have any
// bytes. The text is no format of files.
class RankTextWriter {
 public:
  void add(std::int64_t number);
  void add(std::string_view text);
  void add(DimSpan dims);
  void add(const Box& box);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// RankTextReader reads a text of a RankTextWriter, which must outlive it. Raises a
// ContractViolation at the end of the text.
class RankTextReader {
 public:
  explicit RankTextReader(std::string_view text) : left_(text) {}

  bool at_end() const { return left_.empty(); }
  std::int64_t number();
  std::string text();
  Dims dims();
  Box box();

 private:
  std::string_view left_;
};

}  // namespace simmesh::checkpoint
