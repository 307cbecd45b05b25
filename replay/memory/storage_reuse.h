#pragma once

#include <cstdint>
#include <vector>

#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// StorageReuse detects when a storage id stands for other memory than before. A view is one of
// other memory if its item size is new, or if it ends beyond the operator's output with which the
// storage first appeared; unless the same operator has the storage among its inputs, and so may
// view it as another dtype, or resize it. A storage of no bytes may grow without being another one.
class StorageReuse {
 public:
  // is_new_memory takes the next view of the storage, which ends at end_bytes, and returns whether
  // it is another storage than that of the earlier views. node counts the operators.
  bool is_new_memory(const TraceTensor& view, std::int64_t end_bytes, bool is_input,
                     std::size_t node);

 private:
  void begin(const TraceTensor& view, std::int64_t end_bytes, bool is_input, std::size_t node);
  void grow(const TraceTensor& view, std::int64_t end_bytes);
  bool knows(std::int64_t item_bytes) const;

  std::vector<std::int64_t> item_bytes_;
  std::int64_t bytes_ = 0;
  bool is_whole_ = false;  // bytes_ is the whole storage
  std::size_t first_node_ = 0;
  std::size_t input_node_ = 0;  // the last operator that has it as an input
  bool was_input_ = false;
};

}  // namespace simmesh::replay
