#pragma once

#include <boost/container/small_vector.hpp>
#include <map>
#include <string>
#include <vector>

#include "core/check/call_site.h"
#include "core/clock/vector_clock.h"
#include "core/memory/ledger.h"

namespace simmesh {

// MemoryRange is the part of a storage that an operation uses: in the device, or in the host's
// memory where the address is 0.
struct MemoryRange {
  StorageId storage = 0;
  DeviceAddress storage_begin = 0;  // address of the storage
  std::size_t offset = 0;           // in bytes
  std::size_t bytes = 0;
};

// StreamOperation is an operation that was launched: which one, on which stream, and its number on
// that stream, counted from 1.
struct StreamOperation {
  const char* name = "";
  CallSite site = {};
  StreamIndex stream = 0;
  std::uint64_t number = 0;
};

// RaceChecker is told, in the order of a device's program, what each operation reads and writes,
// and what happened before it. Two operations that use the same bytes, one of them writing, must be
// ordered: by the stream they share, or by events. It compares addresses: memory that was freed and
// allocated again is the same memory.
//
// The host is a user of its own memory only, when a stream copies from it or to it.
class RaceChecker {
 public:
  enum class Use : std::uint8_t { read, write };

  // use notes an operation's use of a range. Returns the first earlier use that it races with, in
  // words; empty for none. names are those of the streams.
  std::string use(const MemoryRange& range, Use use, const StreamOperation& operation,
                  const VectorClock& before, const std::vector<std::string>& names);

  // use_on_host does the same for a use by the host, in a range of its own memory.
  std::string use_on_host(const MemoryRange& range, Use use, const char* name,
                          const VectorClock& before, const std::vector<std::string>& names) const;

 private:
  // The host's memory has an own space for each storage; the device is space 0.
  struct Place {
    StorageId space;
    std::uint64_t begin;

    auto operator<=>(const Place&) const = default;
  };
  struct Access {
    StreamOperation operation;
    StorageId storage = 0;
  };
  // The history of some bytes, up to `end`: the last write, and the reads since.
  struct Cell {
    std::uint64_t end;
    Access write;
    boost::container::small_vector<Access, 2> reads;
  };
  using Cells = std::map<Place, Cell>;

  static Place place_of(const MemoryRange& range);
  // cut splits the cell that contains a place, so that a cell begins there.
  void cut(const Place& place);
  const Access* conflict(const Cell& cell, Use use, const VectorClock& before) const;

  Cells cells_;
};

}  // namespace simmesh
