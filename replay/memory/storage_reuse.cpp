#include "replay/memory/storage_reuse.h"

#include <algorithm>

namespace simmesh::replay {

bool StorageReuse::is_new_memory(const TraceTensor& view, std::int64_t end_bytes, bool is_input,
                                 std::size_t node) {
  if (item_bytes_.empty()) {
    begin(view, end_bytes, is_input, node);
    return false;
  }
  bool is_of_first_node = node == first_node_;
  bool is_of_input = !is_input && was_input_ && input_node_ == node;
  bool fits = knows(view.item_bytes) && (!is_whole_ || bytes_ == 0 || end_bytes <= bytes_);
  bool is_new = !fits && !is_of_first_node && !is_of_input;
  if (is_new)
    begin(view, end_bytes, is_input, node);
  else
    grow(view, end_bytes);
  if (is_input) {
    was_input_ = true;
    input_node_ = node;
  }
  return is_new;
}

void StorageReuse::begin(const TraceTensor& view, std::int64_t end_bytes, bool is_input,
                         std::size_t node) {
  item_bytes_ = {view.item_bytes};
  bytes_ = end_bytes;
  is_whole_ = !is_input;
  first_node_ = node;
  was_input_ = is_input;
  input_node_ = node;
}

void StorageReuse::grow(const TraceTensor& view, std::int64_t end_bytes) {
  if (!knows(view.item_bytes)) item_bytes_.push_back(view.item_bytes);
  bytes_ = std::max(bytes_, end_bytes);
}

bool StorageReuse::knows(std::int64_t item_bytes) const {
  return std::find(item_bytes_.begin(), item_bytes_.end(), item_bytes) != item_bytes_.end();
}

}  // namespace simmesh::replay
