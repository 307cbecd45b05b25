#pragma once

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/catalog/location.h"

namespace simmesh::checkpoint {

// OpenCheckpoint is a checkpoint whose catalog was read, and where its files lie.
struct OpenCheckpoint {
  Catalog catalog;
  std::string folder;  // in the store; the files of chunks are relative to it
};

// exists says whether there is a file or a folder.
bool exists(const Location& location);

// open reads what a checkpoint holds, of any format that is known: one of ours, PyTorch's DCP
// (.metadata), DeepSpeed's (*_states.pt, or a folder whose file `latest` names one), safetensors
// files of Hugging Face or of DCP, or a single safetensors file. Of a part of a modular checkpoint
// of ours (see SaveLayout) it returns what belongs to the part. Raises a ValueError for a folder
// that is none of these, and for a broken one.
OpenCheckpoint open(const Location& location);

}  // namespace simmesh::checkpoint
