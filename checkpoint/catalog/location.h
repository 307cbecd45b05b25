#pragma once

#include <memory>
#include <string>

#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// Location is where one checkpoint lies: a folder of a store, which may hold others.
struct Location {
  std::shared_ptr<Store> store;
  std::string name;

  // text is for messages: "run1/step_10".
  std::string text() const { return joined(store->name(), name); }
};

// Directory is a checkpoint in a folder of the file system. What is above the folder's last name is
// the store.
Location Directory(const std::string& path);

}  // namespace simmesh::checkpoint
