#pragma once

#include <string>

#include "checkpoint/catalog/catalog.h"

namespace simmesh::checkpoint {

// OpenCheckpoint is a checkpoint whose catalog was read, and the place of its files.
struct OpenCheckpoint {
  Catalog catalog;
  std::string folder;  // in the store; the files of chunks are relative to it
};

}  // namespace simmesh::checkpoint
