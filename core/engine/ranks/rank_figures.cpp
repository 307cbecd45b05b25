#include "core/engine/ranks/rank_figures.h"

#include <fmt/format.h>

namespace simmesh {

namespace {

template <class Figure>
std::string compared(const RankFigures& a, const RankFigures& b, std::string_view what, Figure of_a,
                     Figure of_b) {
  if (of_a == of_b) return {};
  return fmt::format("{}: {} on rank {}, {} on rank {}", what, of_a, a.rank, of_b, b.rank);
}

}  // namespace

RankFigures RankFigures::of(Rank& rank) {
  const Ledger& ledger = rank.ledger();
  RankFigures figures{.rank = rank.id(),
                      .total = ledger.total(),
                      .allocations = ledger.allocations(),
                      .operations = rank.operations()};
  for (std::size_t i = 0; i < memory_category_count; ++i)
    figures.by_category[i] = ledger.of(MemoryCategory(i));
  return figures;
}

std::string difference(const RankFigures& a, const RankFigures& b) {
  std::string text = compared(a, b, "operations", a.operations, b.operations);
  if (text.empty()) text = compared(a, b, "allocations", a.allocations, b.allocations);
  if (text.empty()) text = compared(a, b, "peak bytes", a.total.peak, b.total.peak);
  if (text.empty()) text = compared(a, b, "current bytes", a.total.current, b.total.current);
  for (std::size_t i = 0; text.empty() && i < memory_category_count; ++i) {
    std::string name(to_string(MemoryCategory(i)));
    text = compared(a, b, "peak bytes of " + name, a.by_category[i].peak, b.by_category[i].peak);
  }
  return text;
}

}  // namespace simmesh
