#pragma once

#include "checkpoint/catalog/location.h"
#include "checkpoint/format/open_checkpoint.h"

namespace simmesh::checkpoint {

// exists is true if there is a file or a folder at a place.
bool exists(const Location& location);

// open reads the catalog of a checkpoint of any format (see checkpoint/format/formats.h). A part of
// a modular checkpoint of simmesh's own is a place, too (see SaveLayout). Raises a ValueError for a
// place without a checkpoint, and for a broken one.
OpenCheckpoint open(const Location& location);

}  // namespace simmesh::checkpoint
