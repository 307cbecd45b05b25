#pragma once

#include <functional>

#include "checkpoint/catalog/location.h"

namespace simmesh::checkpoint {

// in_new_folder calls `write`, which writes a checkpoint into a folder. Raises a ValueError where
// something is there already. If `write` raises, the folder is removed.
void in_new_folder(const Location& to, const std::function<void()>& write);

}  // namespace simmesh::checkpoint
