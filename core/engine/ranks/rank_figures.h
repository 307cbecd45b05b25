#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/engine/ranks/rank.h"

namespace simmesh {

// RankFigures is what a run cost one rank, as far as values don't matter: the figures that a world
// of shapes only gives, and in which the world with data agrees with it.
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

// difference says in words in which figure two ranks differ first; empty where they agree in all.
std::string difference(const RankFigures& a, const RankFigures& b);

}  // namespace simmesh
