#include "replay/validate/first_divergence.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <tuple>

namespace simmesh::replay {

namespace {

using CommPlaces = std::vector<CommPlace>;

std::vector<std::int64_t> request_numbers(const JobView& view, const CommPlaces& places) {
  std::vector<std::int64_t> numbers;
  for (const CommPlace& place : places) numbers.push_back(view.comm(place).request.sequence);
  return numbers;
}

bool is_rising(const std::vector<std::int64_t>& numbers) {
  return std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) ==
         numbers.end();
}

// The first difference of two lists, and which of them has an entry there that the other lacks.
struct Divergence {
  std::size_t place = 0;    // in both lists
  bool is_missing = false;  // the member lacks the entry of the reference
};

// True if the requests are counted alike on all ranks: most numbers are on both.
bool share_numbers(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  if (!is_rising(a) || !is_rising(b)) return false;
  std::vector<std::int64_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return 2 * both.size() >= std::min(a.size(), b.size()) && !both.empty();
}

Divergence by_number(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  auto place = std::size_t(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  bool is_missing = place == a.size() || (place < b.size() && b[place] < a[place]);
  return {place, is_missing};
}

// Sizes that may differ between members of a group don't count.
auto comm_signature(const JobView& view, const CommPlace& place) {
  const TraceComm& comm = view.comm(place);
  CommKind kind = view.kind(place);
  bool is_uneven = comm.in_split.size() > 0 || comm.out_split.size() > 0 ||
                   kind == CommKind::gather || kind == CommKind::scatter;
  return std::tuple(view.name(place), view.trace(place).text(comm.dtype),
                    is_uneven ? 0 : comm.in_elements, is_uneven ? 0 : comm.out_elements);
}

Divergence by_signature(const JobView& view, const CommPlaces& member,
                        const CommPlaces& reference) {
  std::size_t shorter = std::min(member.size(), reference.size()), place = 0;
  while (place < shorter &&
         comm_signature(view, member[place]) == comm_signature(view, reference[place]))
    ++place;
  return {place, member.size() < reference.size()};
}

std::string describe_entry(const JobView& view, const CommPlaces& places, std::size_t place) {
  if (place >= places.size()) return "none follows";
  return fmt::format("{} {}", to_string(view, places[place]), view.name(places[place]));
}

}  // namespace

Finding first_divergence(const JobView& view, const JobGroup& group, const MemberComms& member,
                         const MemberComms& reference) {
  const CommPlaces& own = member.collectives;
  const CommPlaces& other = reference.collectives;
  std::vector<std::int64_t> own_numbers = request_numbers(view, own);
  std::vector<std::int64_t> other_numbers = request_numbers(view, other);
  Divergence divergence = share_numbers(own_numbers, other_numbers)
                              ? by_number(own_numbers, other_numbers)
                              : by_signature(view, own, other);
  std::int64_t rank = view.job().ranks[member.position].rank;
  std::int64_t other_rank = view.job().ranks[reference.position].rank;
  FindingPlace at{.rank = rank, .node = std::nullopt, .field = "name"};
  if (divergence.place < own.size()) at.node = view.node(own[divergence.place]).id;
  std::string message =
      fmt::format("in {} rank {} has {} collectives, rank {} has {}: ", to_string(group), rank,
                  own.size(), other_rank, other.size());
  if (divergence.is_missing)
    message += fmt::format("it never joins {}; its own at that place: {}",
                           describe_entry(view, other, divergence.place),
                           describe_entry(view, own, divergence.place));
  else
    message += fmt::format("rank {} never joins {}; its own at that place: {}", other_rank,
                           describe_entry(view, own, divergence.place),
                           describe_entry(view, other, divergence.place));
  return error_at("count", at, std::move(message));
}

}  // namespace simmesh::replay
