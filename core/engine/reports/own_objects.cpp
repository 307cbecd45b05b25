#include "core/engine/reports/own_objects.h"

#include <map>
#include <set>

namespace simmesh {

std::vector<std::uint64_t> objects_of_one_rank(gsl::span<const Touch> touches) {
  std::map<std::uint64_t, RankId> users;
  std::set<std::uint64_t> shared;
  for (const Touch& touch : touches)
    if (users.emplace(touch.object, touch.rank).first->second != touch.rank)
      shared.insert(touch.object);
  std::vector<std::uint64_t> own;
  for (const auto& [object, user] : users)
    if (shared.count(object) == 0) own.push_back(object);
  return own;
}

}  // namespace simmesh
