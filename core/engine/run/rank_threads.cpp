#include "core/engine/run/rank_threads.h"

#include <algorithm>
#include <utility>

#include "core/check/error.h"
#include "core/check/fold_hash.h"

namespace simmesh {

// Small worlds may have many threads a rank, and large worlds need few.
std::size_t RankThreads::max_of_rank(const WorldOptions& options) {
  constexpr std::size_t of_world = 4096, least = 4, most = 64;
  if (!options.ranks_are_threads) return 0;
  return std::clamp(of_world / options.ranks, least, most);
}

std::size_t RankThreads::seats_max(const WorldOptions& options) {
  return fibers(options) + options.ranks * max_of_rank(options);
}

bool RankThreads::is_thread(const WorldOptions& options, RankId id) {
  return id != no_rank && crew_of(options, id) > options.deputies;
}

std::size_t RankThreads::number_of(RankId thread) const {
  return crew_of(options_, thread) - options_.deputies - 1;
}

RankId RankThreads::begin(RankId rank, ThreadWork work) {
  std::vector<ThreadWork>& threads = ranks_[rank].threads;
  auto free = std::find_if(threads.begin(), threads.end(),
                           [](const ThreadWork& thread) { return thread.body == nullptr; });
  if (free == threads.end()) {
    if (threads.size() == max_of_rank(options_))
      raise(ErrorKind::runtime_error, "engine/threads",
            "rank {}: expected at most {} threads of a rank at once, got one more: {}", rank,
            threads.size(), work.name);
    free = threads.emplace(threads.end());
  }
  *free = std::move(work);
  return deputy_id(options_, rank, options_.deputies + std::size_t(free - threads.begin()));
}

void RankThreads::end(RankId thread) {
  ranks_[rank_behind(options_, thread)].threads[number_of(thread)].body = nullptr;
}

const ThreadWork& RankThreads::work(RankId thread) const {
  return ranks_[rank_behind(options_, thread)].threads[number_of(thread)];
}

std::vector<RankId> RankThreads::of_rank(RankId rank) const {
  std::vector<RankId> found;
  if (ranks_.empty()) return found;
  const std::vector<ThreadWork>& threads = ranks_[rank].threads;
  for (std::size_t number = 0; number < threads.size(); ++number)
    if (threads[number].body)
      found.push_back(deputy_id(options_, rank, options_.deputies + number));
  return found;
}

void RankThreads::add_result(RankId rank, std::uint64_t word) {
  FoldHash hash(1);
  hash.fold(word);
  ranks_[rank].results += hash.value();
}

}  // namespace simmesh
