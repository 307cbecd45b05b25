#include "replay/chakra/chakra_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

namespace simmesh::replay {

std::vector<std::uint64_t> chakra_order(const ChakraTrace& trace) {
  std::unordered_map<std::uint64_t, std::size_t> places;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) places.emplace(trace.nodes[i].id, i);
  std::vector<std::vector<std::size_t>> dependents(trace.nodes.size());
  std::vector<std::size_t> missing(trace.nodes.size(), 0);
  using Ready = std::pair<std::uint64_t, std::size_t>;  // the id, and the place
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    std::vector<std::uint64_t> needed = trace.nodes[i].data_deps;
    std::sort(needed.begin(), needed.end());
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
    for (std::uint64_t id : needed) {
      auto place = places.find(id);
      if (place == places.end()) continue;
      dependents[place->second].push_back(i);
      ++missing[i];
    }
    if (missing[i] == 0) ready.emplace(trace.nodes[i].id, i);
  }
  std::vector<std::uint64_t> order;
  while (!ready.empty()) {
    auto [id, place] = ready.top();
    ready.pop();
    order.push_back(id);
    for (std::size_t dependent : dependents[place])
      if (--missing[dependent] == 0) ready.emplace(trace.nodes[dependent].id, dependent);
  }
  return order;
}

}  // namespace simmesh::replay
