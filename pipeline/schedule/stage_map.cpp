#include "pipeline/schedule/stage_map.h"

#include <algorithm>
#include <set>

#include "core/check/error.h"

namespace simmesh::pipeline {

StageStyle stage_style_from_string(std::string_view name) {
  if (name == "loop") return StageStyle::loop;
  if (name == "v") return StageStyle::v;
  raise(ErrorKind::value_error, "pipeline/stage_map",
        "Style {} is not supported, expected loop or v", name);
}

StageMap::StageMap(const std::vector<std::int64_t>& ranks) {
  for (std::size_t stage = 0; stage < ranks.size(); ++stage)
    ranks_.emplace(std::int64_t(stage), ranks[stage]);
}

StageMap StageMap::of_style(StageStyle style, Size size) {
  if (size.ranks < 1)
    raise(ErrorKind::value_error, "pipeline/stage_map", "expected at least one rank, got {}",
          size.ranks);
  if (style == StageStyle::v && size.stages % size.ranks != 0)
    raise(ErrorKind::value_error, "pipeline/stage_map",
          "num_stages {} must be evenly divisible by pp_size {} for V schedules", size.stages,
          size.ranks);
  StageMap map;
  for (std::int64_t stage = 0; stage < size.stages; ++stage) {
    std::int64_t place = stage % size.ranks, pass = stage / size.ranks;
    bool is_back = style == StageStyle::v && pass % 2 == 1;
    map.ranks_.emplace(stage, is_back ? size.ranks - 1 - place : place);
  }
  return map;
}

std::int64_t StageMap::put(std::int64_t stage, std::int64_t rank) {
  return ranks_.emplace(stage, rank).first->second;
}

std::int64_t StageMap::rank_of(std::int64_t stage) const {
  auto found = ranks_.find(stage);
  if (found == ranks_.end())
    raise(ErrorKind::key_error, "pipeline/stage_map", "expected a stage with a rank, got {}",
          stage);
  return found->second;
}

std::vector<std::int64_t> StageMap::ranks(std::int64_t stages) const {
  std::vector<std::int64_t> ranks;
  for (std::int64_t stage = 0; stage < stages; ++stage) ranks.push_back(rank_of(stage));
  return ranks;
}

std::vector<std::int64_t> StageMap::stages_of(std::int64_t rank) const {
  std::vector<std::int64_t> stages;
  for (auto [stage, its_rank] : ranks_)
    if (its_rank == rank) stages.push_back(stage);
  return stages;
}

EdgeRounds connection_rounds(const std::vector<std::int64_t>& stage_ranks) {
  std::set<Edge> edges;
  for (std::size_t stage = 1; stage < stage_ranks.size(); ++stage) {
    auto [low, high] = std::minmax(stage_ranks[stage - 1], stage_ranks[stage]);
    if (low != high) edges.emplace(low, high);
  }
  std::vector<Edge> left(edges.begin(), edges.end());
  EdgeRounds rounds;
  while (!left.empty()) {
    std::set<std::int64_t> used;
    std::vector<Edge> round, deferred;
    for (const Edge& edge : left) {
      bool fits = used.count(edge.first) == 0 && used.count(edge.second) == 0;
      (fits ? round : deferred).push_back(edge);
      if (fits) used.insert({edge.first, edge.second});
    }
    rounds.push_back(std::move(round));
    left = std::move(deferred);
  }
  return rounds;
}

EdgeRounds directed_rounds(const std::vector<std::int64_t>& stage_ranks) {
  EdgeRounds rounds;
  for (const std::vector<Edge>& round : connection_rounds(stage_ranks)) {
    std::vector<Edge> back;
    for (const Edge& edge : round) back.emplace_back(edge.second, edge.first);
    rounds.push_back(round);
    rounds.push_back(std::move(back));
  }
  return rounds;
}

}  // namespace simmesh::pipeline
