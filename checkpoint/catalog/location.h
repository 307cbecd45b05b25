#pragma once

#include <memory>
#include <string>

#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// Location is the place of one checkpoint: a folder of a store, which may hold others.
struct Location {
  std::shared_ptr<Store> store;
  std::string name;

  // text returns the place for messages: "run1/step_10".
  std::string text() const { return joined(store->name(), name); }
};

// Directory returns the place of a checkpoint in the file system. The folder above it is the store.
Location Directory(const std::string& path);

}  // namespace simmesh::checkpoint
