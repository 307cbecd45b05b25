#pragma once

#include <string>

#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// remove_after_failure removes a file or folder that a failed write has left. It raises nothing:
// the first failure is the one to tell, and a later save removes what still is there.
inline void remove_after_failure(Store& store, const std::string& path) noexcept {
  try {
    store.remove(path);
  } catch (...) {
    return;
  }
}

}  // namespace simmesh::checkpoint
