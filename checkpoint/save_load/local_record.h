#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// LocalRecord lets a rank resume from its own files if nothing has changed. It has the place of
// each box that the rank held, and the values that are no tensors. A save with keeps_local writes
// one for each rank. If all ranks find what they want in their records, a load reads nothing else.
struct LocalRecord {
  std::int64_t world = 1;
  std::int64_t rank = 0;
  Catalog catalog;  // has only this rank's boxes
};

// local_file returns the name of a rank's record in a checkpoint: "rank_00003.local".
std::string local_file(std::int64_t rank);

// local_text returns a record with its hash. parse_local is its inverse, and raises a ValueError
// for a text that differs in any byte.
std::string local_text(const LocalRecord& record);
LocalRecord parse_local(std::string_view text);

// read_local returns the record of a rank of a committed checkpoint, nullopt if there is none or if
// it isn't what was written.
std::optional<LocalRecord> read_local(const Store& store, const std::string& folder,
                                      std::int64_t rank);

}  // namespace simmesh::checkpoint
