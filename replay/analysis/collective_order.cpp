#include "replay/analysis/collective_order.h"

#include <algorithm>
#include <numeric>

namespace simmesh::replay {

namespace {

// Edge says that a collective follows another one on a rank.
struct Edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t rank = 0;
};

std::vector<Edge> successions(const JobTimeline& job,
                              const std::vector<JobCollective>& collectives) {
  std::vector<std::vector<std::uint32_t>> of_rank;
  for (const RankTimeline& rank : job.ranks) of_rank.emplace_back(rank.comms.size());
  for (std::uint32_t i = 0; i < collectives.size(); ++i)
    for (const CommPart& part : collectives[i].parts) of_rank[part.rank][part.comm] = i;
  std::vector<Edge> edges;
  for (std::uint32_t r = 0; r < of_rank.size(); ++r)
    for (std::size_t c = 1; c < of_rank[r].size(); ++c)
      edges.push_back({of_rank[r][c - 1], of_rank[r][c], r});
  return edges;
}

// peel removes, again and again, edges to which nothing leads, or, backwards, edges that lead to
// nothing. Removed edges are on no cycle.
void peel(const std::vector<Edge>& edges, bool backwards, std::vector<bool>& is_gone) {
  auto target = [=](const Edge& edge) { return backwards ? edge.from : edge.to; };
  auto source = [=](const Edge& edge) { return backwards ? edge.to : edge.from; };
  std::vector<std::uint32_t> order(edges.size()), begin(is_gone.size() + 1), degree(is_gone.size());
  for (const Edge& edge : edges) ++begin[source(edge) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (std::uint32_t e = 0; e < edges.size(); ++e) {
    order[next[source(edges[e])]++] = e;
    degree[target(edges[e])] += !is_gone[source(edges[e])];
  }
  std::vector<std::uint32_t> free;
  for (std::uint32_t i = 0; i < is_gone.size(); ++i)
    if (!is_gone[i] && degree[i] == 0) free.push_back(i);
  while (!free.empty()) {
    std::uint32_t one = free.back();
    free.pop_back();
    is_gone[one] = true;
    for (std::uint32_t e = begin[one]; e < begin[one + 1]; ++e) {
      std::uint32_t to = target(edges[order[e]]);
      if (--degree[to] == 0 && !is_gone[to]) free.push_back(to);
    }
  }
}

}  // namespace

std::vector<OvertakenComm> overtaken_comms(const RankTimeline& rank) {
  std::vector<std::uint32_t> order(rank.comms.size());
  std::iota(order.begin(), order.end(), 0u);
  auto issued = [&](std::uint32_t comm) {
    return rank.comms[comm].issued_us.value_or(rank.span_of(rank.comms[comm]).begin_us);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return issued(a) < issued(b); });
  std::vector<OvertakenComm> overtaken;
  auto end_of = [&](std::uint32_t comm) { return rank.span_of(rank.comms[comm]).end_us; };
  std::uint32_t earliest = 0;  // of those issued later, the one that ended first
  for (std::size_t i = order.size(); i-- > 0;) {
    bool is_last = i + 1 == order.size();
    if (!is_last && end_of(earliest) < end_of(order[i]))
      overtaken.push_back({order[i], earliest});
    else
      earliest = order[i];
  }
  std::reverse(overtaken.begin(), overtaken.end());
  return overtaken;
}

std::vector<ReorderedCollective> reordered_collectives(
    const JobTimeline& job, const std::vector<JobCollective>& collectives) {
  std::vector<Edge> edges = successions(job, collectives);
  std::vector<bool> is_gone(collectives.size());
  peel(edges, false, is_gone);
  peel(edges, true, is_gone);
  std::vector<ReorderedCollective> reordered;
  std::vector<bool> is_named(collectives.size());
  for (const Edge& edge : edges) {
    if (is_gone[edge.from] || is_gone[edge.to] || is_named[edge.from]) continue;
    is_named[edge.from] = true;
    reordered.push_back({edge.from, edge.to, edge.rank});
  }
  std::sort(reordered.begin(), reordered.end(),
            [](const ReorderedCollective& a, const ReorderedCollective& b) {
              return a.collective < b.collective;
            });
  return reordered;
}

}  // namespace simmesh::replay
