#include "core/clock/race_checker.h"

#include <algorithm>
#include <fmt/format.h>

namespace simmesh {

namespace {

constexpr const char* verb_of(RaceChecker::Use use) {
  return use == RaceChecker::Use::read ? "reads" : "writes";
}

std::string described(const StreamOperation& operation, const std::vector<std::string>& names) {
  std::string site = *operation.site.file ? " at " + to_string(operation.site) : "";
  return fmt::format("{}{} on stream {}", operation.name, site, names[operation.stream]);
}

// Returns the number that the storage's rank gave it.
std::string named(StorageId storage) {
  return fmt::format("storage {}", storage & ((StorageId(1) << 40) - 1));
}

std::string described(const MemoryRange& range) {
  if (range.storage_begin == 0) return fmt::format("{} bytes of the host's memory", range.bytes);
  return fmt::format("{} bytes of {} at {:#x}", range.bytes, named(range.storage),
                     range.storage_begin + range.offset);
}

}  // namespace

RaceChecker::Place RaceChecker::place_of(const MemoryRange& range) {
  if (range.storage_begin == 0) return {range.storage, range.offset};
  return {0, range.storage_begin + range.offset};
}

void RaceChecker::cut(const Place& place) {
  Cells::iterator after = cells_.upper_bound(place);
  if (after == cells_.begin()) return;
  Cells::iterator around = std::prev(after);
  bool is_around = around->first.space == place.space && around->first.begin < place.begin &&
                   around->second.end > place.begin;
  if (!is_around) return;
  Cell rest = around->second;
  around->second.end = place.begin;
  cells_.emplace_hint(after, place, std::move(rest));
}

const RaceChecker::Access* RaceChecker::conflict(const Cell& cell, Use use,
                                                 const VectorClock& before) const {
  auto is_ordered = [&](const Access& access) {
    return access.operation.number <= before.at(access.operation.stream);
  };
  if (cell.write.operation.number > 0 && !is_ordered(cell.write)) return &cell.write;
  if (use == Use::read) return nullptr;
  for (const Access& read : cell.reads)
    if (!is_ordered(read)) return &read;
  return nullptr;
}

std::string RaceChecker::use(const MemoryRange& range, Use use, const StreamOperation& operation,
                             const VectorClock& before, const std::vector<std::string>& names) {
  if (range.bytes == 0) return {};
  Place begin = place_of(range);
  Place end{begin.space, begin.begin + range.bytes};
  cut(begin);
  cut(end);
  std::string race;
  Place at = begin;
  Access access{operation, range.storage};
  for (Cells::iterator it = cells_.lower_bound(begin); it != cells_.end() && it->first < end;) {
    Cell& cell = it->second;
    const Access* other = conflict(cell, use, before);
    if (other && race.empty()) {
      bool is_reused = other->storage != range.storage;
      race = fmt::format(
          "{} {} {}, which {} {} without an order between the two; expected {} to wait for an "
          "event that {} records after it{}",
          described(operation, names), verb_of(use), described(range),
          described(other->operation, names), other == &cell.write ? "writes" : "reads",
          names[operation.stream], names[other->operation.stream],
          is_reused ? fmt::format(", before {} there is handed back to the allocator",
                                  named(other->storage))
                    : "");
    }
    if (use == Use::write) {
      it = cells_.erase(it);
      continue;
    }
    if (at < it->first) cells_.emplace_hint(it, at, Cell{it->first.begin, {}, {access}});
    auto same = std::find_if(cell.reads.begin(), cell.reads.end(), [&](const Access& read) {
      return read.operation.stream == operation.stream;
    });
    if (same == cell.reads.end())
      cell.reads.push_back(access);
    else
      *same = access;
    at = {begin.space, cell.end};
    ++it;
  }
  if (use == Use::write)
    cells_.emplace(begin, Cell{end.begin, access, {}});
  else if (at < end)
    cells_.emplace(at, Cell{end.begin, {}, {access}});
  return race;
}

std::string RaceChecker::use_on_host(const MemoryRange& range, Use use, const char* name,
                                     const VectorClock& before,
                                     const std::vector<std::string>& names) const {
  Place begin = place_of(range);
  Cells::const_iterator it = cells_.upper_bound(begin);
  if (it != cells_.begin() && std::prev(it)->first.space == begin.space &&
      std::prev(it)->second.end > begin.begin)
    --it;
  Place end{begin.space, begin.begin + range.bytes};
  for (; it != cells_.end() && it->first < end; ++it) {
    const Access* other = conflict(it->second, use, before);
    if (!other) continue;
    return fmt::format(
        "{} on the host {} {}, which {} {} without an order between the two; expected the host to "
        "synchronise with an event that {} records after it",
        name, verb_of(use), described(range), described(other->operation, names),
        other == &it->second.write ? "writes" : "reads", names[other->operation.stream]);
  }
  return {};
}

}  // namespace simmesh
