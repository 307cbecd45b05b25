#include "pipeline/lowering/unshard.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh::pipeline {

namespace {

constexpr const char* unshard_where = "pipeline/unshard";

bool holds(const std::vector<std::int64_t>& stages, std::int64_t stage) {
  return std::find(stages.begin(), stages.end(), stage) != stages.end();
}

// Returns the first `count` stages from a place of a row on, in order, and the further ones of the
// action that reaches the count.
std::vector<std::int64_t> next_stages(gsl::span<const Action> actions, std::int64_t count) {
  std::vector<std::int64_t> stages;
  for (const Action& action : actions) {
    if (action.is_idle()) continue;
    for (const Action& leaf : action.leaves())
      if (!holds(stages, leaf.stage)) stages.push_back(leaf.stage);
    if (std::int64_t(stages.size()) >= count) break;
  }
  return stages;
}

void require_room(const Action& action, std::int64_t max_active) {
  std::set<std::int64_t> stages;
  for (const Action& leaf : action.leaves()) stages.insert(leaf.stage);
  if (std::int64_t(stages.size()) > max_active)
    raise(ErrorKind::value_error, unshard_where,
          "Atomic action {} requires {} stages, exceeding max_active_stages={}", to_string(action),
          stages.size(), max_active);
}

std::vector<std::int64_t> lookahead_by_word(const std::string& word, std::int64_t max_active,
                                            std::int64_t ranks) {
  if (word != "full" && word != "auto")
    raise(ErrorKind::value_error, unshard_where,
          "unshard_lookahead must be 'full', 'auto', or a tuple of {} integers, got '{}'", ranks,
          word);
  std::vector<std::int64_t> lookahead;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    lookahead.push_back(word == "full" ? max_active : std::min(rank + 2, max_active));
  return lookahead;
}

void require_lookahead(const std::vector<std::int64_t>& lookahead, std::int64_t max_active,
                       std::int64_t ranks) {
  if (std::int64_t(lookahead.size()) != ranks)
    raise(ErrorKind::value_error, unshard_where,
          "unshard_lookahead tuple length must equal the pipeline degree ({}), got {}", ranks,
          lookahead.size());
  for (std::size_t rank = 0; rank < lookahead.size(); ++rank)
    if (lookahead[rank] < 1 || lookahead[rank] > max_active)
      raise(ErrorKind::value_error, unshard_where,
            "unshard_lookahead[{}] must be an integer within [1, max_active_stages={}], got {}",
            rank, max_active, lookahead[rank]);
}

}  // namespace

std::vector<UnshardWindow> unshard_windows(const UnshardLookahead& given, std::int64_t max_active,
                                           std::int64_t ranks) {
  if (max_active < 1)
    raise(ErrorKind::value_error, unshard_where,
          "max_active_stages must be a positive integer, got {}", max_active);
  std::vector<std::int64_t> lookahead;
  if (const auto* word = std::get_if<std::string>(&given)) {
    lookahead = lookahead_by_word(*word, max_active, ranks);
  } else {
    lookahead = std::get<std::vector<std::int64_t>>(given);
    require_lookahead(lookahead, max_active, ranks);
  }
  std::vector<UnshardWindow> windows;
  for (std::int64_t count : lookahead) windows.push_back({max_active, count});
  return windows;
}

Row add_unshard(const Row& row, const UnshardWindow& window) {
  Row result;
  std::vector<std::int64_t> active;  // in order of their UNSHARD
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i].is_idle()) continue;
    require_room(row[i], window.max_active);
    auto coming = gsl::span<const Action>(row).subspan(i);
    std::vector<std::int64_t> kept = next_stages(coming, window.max_active), still_active;
    for (std::int64_t stage : active) {
      if (holds(kept, stage))
        still_active.push_back(stage);
      else
        result.push_back({stage, ActionKind::reshard});
    }
    active = std::move(still_active);
    for (std::int64_t stage : next_stages(coming, window.lookahead)) {
      if (holds(active, stage)) continue;
      active.push_back(stage);
      result.push_back({stage, ActionKind::unshard});
    }
    result.push_back(row[i]);
  }
  for (std::int64_t stage : active) result.push_back({stage, ActionKind::reshard});
  return result;
}

}  // namespace simmesh::pipeline
