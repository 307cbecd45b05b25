#include "core/engine/spread/world_spread.h"

#include <utility>

#include "core/check/error.h"

namespace simmesh {

WorldSpread::WorldSpread(Processes& processes, OwnerOf owner_of)
    : processes_(processes), owner_of_(std::move(owner_of)) {}

int WorldSpread::owner_of(const RankOfWorld& rank) const {
  if (!owner_of_) return int(rank.rank * std::size_t(count()) / rank.ranks);
  int owner = owner_of_(rank);
  if (owner < 0 || owner >= count())
    raise(ErrorKind::value_error, "engine/spread",
          "expected rank {} of {} to belong to one of {} processes, got process {}", rank.rank,
          rank.ranks, count(), owner);
  return owner;
}

}  // namespace simmesh
