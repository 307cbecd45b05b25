#include "core/engine/spread/world_spread.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/check/error.h"
#include "core/engine/spread/process_frame.h"

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

std::optional<ProcessBytes> WorldSpread::of_first(std::string_view name, const ProcessBytes* own) {
  ProcessFrame here{
      .kind = ProcessFrame::Kind::question, .number = ++questions_, .name = std::string(name)};
  const std::byte has_own{own ? std::uint8_t(1) : std::uint8_t(0)};
  std::vector<int> others = processes_.others();
  std::vector<Parcel> parcels;
  for (int other : others) parcels.push_back({other, frame_bytes(here, {has_own})});
  std::vector<ProcessBytes> told = processes_.exchange(parcels, others);
  int first = own ? number() : count(), having = own ? 1 : 0;
  for (std::size_t i = 0; i < others.size(); ++i) {
    ProcessFrame theirs = frame_from(std::move(told[i]));
    if (!theirs.is_at(here))
      throw ProcessesApart(
          fmt::format("[engine/spread] expected all processes at {}, got process {} at {}: {}",
                      here.text(), others[i], theirs.text(), took_another_way));
    bool has_bytes = *theirs.payload.begin() != std::byte{0};
    having += has_bytes ? 1 : 0;
    if (has_bytes) first = std::min(first, others[i]);
  }
  if (having == 0 || having == count()) return std::nullopt;
  if (first != number()) return frame_from(processes_.exchange({}, {&first, 1}).front()).payload;
  for (Parcel& parcel : parcels) parcel.bytes = frame_bytes(here, *own);
  processes_.exchange(parcels, {});
  return *own;
}

}  // namespace simmesh
