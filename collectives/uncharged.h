#pragma once

#include "core/clock/clock.h"
#include "core/memory/ledger.h"

namespace simmesh {

// Uncharged lets what is made in its scope belong to no rank: results are charged when their ranks
// take them, and what a collective copies is part of its own launch.
class Uncharged {
 public:
  Uncharged() : ledger_(Ledger::active()) { Ledger::set_active(nullptr); }
  ~Uncharged() { Ledger::set_active(ledger_); }
  Uncharged(const Uncharged&) = delete;
  Uncharged& operator=(const Uncharged&) = delete;

 private:
  Ledger* ledger_;
  Clock::Quiet no_launches_;
};

}  // namespace simmesh
