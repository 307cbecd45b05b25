// What changes if one rank is always slow: how do I write a schedule of my own?
#include <deque>
#include <fmt/core.h>

#include <simmesh/simmesh.h>

using namespace simmesh;

// The slow rank runs only if no other can; the others take turns.
class SlowRank final : public SchedulePolicy {
 public:
  explicit SlowRank(RankId slow) : slow_(slow) {}

  void add(RankId rank) override {
    if (rank == slow_)
      slow_is_ready_ = true;
    else
      ready_.push_back(rank);
  }

  RankId pick() override {
    if (ready_.empty()) {
      slow_is_ready_ = false;
      return slow_;
    }
    RankId next = ready_.front();
    ready_.pop_front();
    return next;
  }

 private:
  RankId slow_;
  bool slow_is_ready_ = false;
  std::deque<RankId> ready_;
};

Schedule slow_rank(RankId slow) {
  return Schedule::custom(fmt::format("slow:{}", slow), [slow](std::size_t, std::uint64_t) {
    return std::make_unique<SlowRank>(slow);
  });
}

// Rank 0 takes the messages of the others in the order in which they come.
void collect(Rank& rank) {
  ProcessGroup group = ProcessGroup::world();
  if (rank.id() != 0) return send(full({1}, DType::int64, rank.id()), {.peer = 0}, group);
  fmt::print("came from");
  for (std::int64_t i = 1; i < group.size(); ++i) {
    std::int64_t sender = recv(Dims{1}, DType::int64, {}, group).peer;
    fmt::print(" {}", sender);
    rank.record(std::uint64_t(sender));
  }
  fmt::print("\n");
}

int main() {
  for (const Schedule& schedule : {Schedule::fifo(), slow_rank(1), slow_rank(2)}) {
    World world({.ranks = 4, .schedule = schedule});
    fmt::print("{}: ", schedule.name());
    Outcome outcome = world.run(collect);
    if (!outcome.ok()) fmt::print("{}\n", outcome);
  }
}
