#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/catalog/flat_range.h"

namespace simmesh::checkpoint {

// FlatLine is a line of elements in runs of several files: a flat group of ZeRO, of which each rank
// has written a part.
//
//   checkpoint::FlatLine line(checkpoint::StoredDType::f32);
//   line.add("rank_0.pt", 704, 6);
//   line.add("rank_1.pt", 704, 6);
//   checkpoint::StoredTensor stored = {"w", checkpoint::StoredDType::f32, {2, 4}, {}};
//   line.add_chunks(stored, {0, 8}, 3);  // its 8 elements begin at the line's fourth
class FlatLine {
 public:
  explicit FlatLine(StoredDType dtype) : dtype_(dtype) {}

  StoredDType dtype() const { return dtype_; }
  std::int64_t count() const { return count_; }

  // add appends a run of `count` elements, which begin at byte `begin` of a file.
  void add(const std::string& file, std::int64_t begin, std::int64_t count);

  // add_chunks adds the chunks of a range of a tensor's elements, which is in the line from element
  // `at` on. Raises a ValueError if the line ends before the range.
  void add_chunks(StoredTensor& tensor, FlatRange range, std::int64_t at) const;

 private:
  struct Run {
    std::string file;
    std::int64_t begin, count;
    std::int64_t first;  // index in the line
  };

  StoredDType dtype_;
  std::int64_t count_ = 0;
  std::vector<Run> runs_;
};

}  // namespace simmesh::checkpoint
