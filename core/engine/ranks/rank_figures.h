#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/engine/ranks/rank.h"

namespace simmesh {

// RankFigures are the costs of a run for one rank, as far as they don't depend on values. A world
// of shapes only gives the same figures as the world with data.
struct RankFigures {
  RankId rank = 0;
  Ledger::Bytes total;
  std::array<Ledger::Bytes, memory_category_count> by_category{};
  std::uint64_t allocations = 0;
  // Collectives, sends, receives and waits.
  std::uint64_t operations = 0;

  // of returns the figures of a rank up to now.
  static RankFigures of(Rank& rank);
};

// difference returns in words the first figure in which two ranks differ; empty if they agree in
// all.
std::string difference(const RankFigures& a, const RankFigures& b);

}  // namespace simmesh
