// In which orders can messages reach a receive from any source, and does the result depend on it?
#include <fmt/core.h>

#include <simmesh/simmesh.h>

using namespace simmesh;

void take_first(Rank& rank) {
  ProcessGroup group = ProcessGroup::world();
  if (rank.id() != 0) return send(full({1}, DType::int64, rank.id()), {.peer = 0}, group);
  std::int64_t first = recv(Dims{1}, DType::int64, {}, group).peer;
  for (int i = 0; i < 2; ++i) recv(Dims{1}, DType::int64, {}, group);
  rank.record(std::uint64_t(first));
}

void add_up(Rank& rank) {
  Tensor one = full({1}, DType::int64, 1);
  rank.record(all_reduce(one, ReduceOp::sum, ProcessGroup::world()));
}

int main() {
  Exploration racing = explore({.ranks = 4}, take_first);
  fmt::print("take_first: {} classes of schedules, {} data hash\n", racing.classes,
             racing.one_data_hash ? "one" : "more than one");
  if (racing.first_failure)
    fmt::print("  differs under {}\n", racing.first_failure->repro.schedule);
  Exploration safe = explore({.ranks = 4}, add_up);
  fmt::print("add_up: {} class, {}\n", safe.classes, safe.certificate);
}
