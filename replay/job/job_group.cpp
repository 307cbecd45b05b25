#include "replay/job/job_group.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/join_text.h"

namespace simmesh::replay {

std::optional<std::int64_t> JobGroup::index_of(std::int64_t rank) const {
  std::int64_t count = std::int64_t(members.size());
  if (count == 0) return std::nullopt;
  std::int64_t step = count > 1 ? members[1] - members[0] : 1;
  std::int64_t guess = (rank - members[0]) / step;
  if (guess >= 0 && guess < count && members[std::size_t(guess)] == rank) return guess;
  auto place = std::find(members.begin(), members.end(), rank);
  return place == members.end() ? std::nullopt : std::optional(place - members.begin());
}

std::string to_string(const JobGroup& group) {
  constexpr std::size_t members_shown = 16;
  std::size_t shown = std::min(group.members.size(), members_shown);
  std::string text =
      fmt::format("the group of ranks [{}", join_text(gsl::span(group.members).first(shown), ", "));
  if (shown < group.members.size()) text += fmt::format(", ... {} in all", group.members.size());
  text += ']';
  if (group.number > 0) text += fmt::format(" with number {}", group.number);
  return text;
}

}  // namespace simmesh::replay
