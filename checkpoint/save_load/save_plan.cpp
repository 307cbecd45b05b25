#include "checkpoint/save_load/save_plan.h"

#include <algorithm>
#include <map>

#include "checkpoint/save_load/set_order.h"

namespace simmesh::checkpoint {

namespace {

// Holder is a rank that has a box, and the index of its item.
struct Holder {
  std::size_t rank, item;
};

}  // namespace

SavePlan plan_save(const std::vector<std::vector<SaveItem>>& items_of_ranks) {
  using Key = std::pair<std::string, std::vector<std::int64_t>>;
  std::map<Key, std::size_t> known;
  std::vector<std::vector<Holder>> boxes;
  for (std::size_t rank = 0; rank < items_of_ranks.size(); ++rank)
    for (std::size_t i = 0; i < items_of_ranks[rank].size(); ++i) {
      const SaveItem& item = items_of_ranks[rank][i];
      Key key = {item.name, {item.box.offsets.begin(), item.box.offsets.end()}};
      auto [found, is_new] = known.emplace(std::move(key), boxes.size());
      if (is_new) boxes.emplace_back();
      std::vector<Holder>& holders = boxes[found->second];
      if (holders.empty() || holders.back().rank != rank) holders.push_back({rank, i});
    }

  SavePlan plan;
  plan.items.resize(items_of_ranks.size());
  std::vector<std::int64_t> load(items_of_ranks.size(), 0);
  for (const std::vector<Holder>& holders : boxes) {
    std::vector<std::size_t> ranks;
    for (const Holder& holder : holders) ranks.push_back(holder.rank);
    ranks = set_order(ranks);
    std::size_t chosen =
        *std::min_element(ranks.begin(), ranks.end(),
                          [&](std::size_t a, std::size_t b) { return load[a] < load[b]; });
    const Holder& writer = *std::find_if(holders.begin(), holders.end(), [&](const Holder& holder) {
      return holder.rank == chosen;
    });
    load[writer.rank] += items_of_ranks[writer.rank][writer.item].weight;
    plan.items[writer.rank].push_back(writer.item);
  }
  for (std::vector<std::size_t>& items : plan.items) std::sort(items.begin(), items.end());
  return plan;
}

}  // namespace simmesh::checkpoint
