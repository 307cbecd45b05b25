#pragma once

#include "core/memory/ledger.h"

namespace simmesh::fsdp {

// HostMemory lets storages that are made in its scope lie in the host's memory, which the rank's
// ledger doesn't count; where it isn't wanted it does nothing.
class HostMemory {
 public:
  explicit HostMemory(bool wanted) : before_(Ledger::active()) {
    if (wanted) Ledger::set_active(nullptr);
  }
  ~HostMemory() { Ledger::set_active(before_); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

 private:
  Ledger* before_;
};

}  // namespace simmesh::fsdp
