#include "sharding/parallel/row_exchange.h"

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/tensor/vector_of.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

// Returns how many rows go from one rank to another: for number 0 none at all, for 1 all to one
// rank, and else a mixture with zeros.
std::int64_t rows_between(std::int64_t from, std::int64_t to, std::int64_t number) {
  if (number == 0) return 0;
  if (number == 1) return to == 1 ? from + 1 : 0;
  return (from * 5 + to * 3 + number) % number;
}

struct Exchanged {
  Tensor rows;
  RowMessages messages;
};

Exchanged exchanged(const ProcessGroup& group, const RowRoute& route, std::int64_t number) {
  Dims sent, came;
  std::vector<std::int64_t> names;
  for (std::int64_t rank = 0; rank < group.size(); ++rank) {
    sent.push_back(rows_between(group.rank(), rank, number));
    came.push_back(rows_between(rank, group.rank(), number));
    for (std::int64_t i = 0; i < sent.back(); ++i)
      names.push_back(group.rank() * 10000 + rank * 100 + i);
  }
  RowExchange exchange(group, route);
  Tensor rows = exchange(vector_of<std::int64_t>(names), sent, came);
  return {rows, exchange.messages()};
}

class RowExchangeTest : public ::testing::TestWithParam<std::int64_t> {};

// By nodes the rows arrive as they do on the flat way.
SIMMESH_TEST_P(RowExchangeTest, ARouteChangesNoBit, {.mesh = {12}, .schedules = 4}) {
  ProcessGroup group = process_group(mesh);
  for (std::int64_t number : {0, 1, 2, 3, 5}) {
    Tensor flat = exchanged(group, {.ranks_per_node = GetParam()}, number).rows;
    RowRoute route{.ranks_per_node = GetParam(), .by_nodes = true};
    EXPECT_SAME_BITS(exchanged(group, route, number).rows, flat);
  }
}

INSTANTIATE_TEST_SUITE_P(Nodes, RowExchangeTest, ::testing::Values(1, 2, 3, 4, 6, 12));

std::int64_t over_ranks(const ProcessGroup& group, std::int64_t own) {
  return all_reduce(vector_of<std::int64_t>({own}), ReduceOp::sum, group).values<std::int64_t>()[0];
}

// Where all ranks send to all, 12 ranks in nodes of 4 cross nodes in 12 * 8 messages, and by nodes
// in 12 * 2.
SIMMESH_TEST(RowExchange, ByNodesFewerMessagesCross, {.mesh = {12}, .schedules = 2}) {
  ProcessGroup group = process_group(mesh);
  RowRoute flat{.ranks_per_node = 4}, by_nodes{.ranks_per_node = 4, .by_nodes = true};
  std::vector<std::int64_t> names(12, 1);
  Dims ones(12, 1);
  auto messages = [&](const RowRoute& route) {
    RowExchange exchange(group, route);
    exchange(vector_of<std::int64_t>(names), ones, ones);
    return exchange.messages();
  };
  std::int64_t crossing = over_ranks(group, messages(flat).between);
  std::int64_t fewer = over_ranks(group, messages(by_nodes).between);
  EXPECT_SAME_BITS(vector_of<std::int64_t>({crossing, fewer}),
                   vector_of<std::int64_t>({12 * 8, 12 * 2}));
  std::int64_t inside = over_ranks(group, messages(flat).inside);
  EXPECT_SAME_BITS(vector_of<std::int64_t>({inside}), vector_of<std::int64_t>({12 * 3}));
}

// However rows are spread, a route by nodes never crosses nodes in more messages.
SIMMESH_TEST(RowExchange, ByNodesNeverMoreMessagesCross, {.mesh = {12}, .schedules = 2}) {
  ProcessGroup group = process_group(mesh);
  for (std::int64_t size : {2, 3, 6})
    for (std::int64_t number : {0, 2, 3, 5, 7}) {
      std::int64_t flat =
          over_ranks(group, exchanged(group, {.ranks_per_node = size}, number).messages.between);
      RowRoute route{.ranks_per_node = size, .by_nodes = true};
      std::int64_t by_nodes = over_ranks(group, exchanged(group, route, number).messages.between);
      if (by_nodes > flat || (flat > 0 && number > 2 && by_nodes == flat))
        raise(ErrorKind::runtime_error, "test", "{} messages by nodes, {} flat", by_nodes, flat);
    }
}

SIMMESH_TEST(RowExchange, RefusesNodesThatDoNotDivide, {.mesh = {4}, .schedules = 1}) {
  ProcessGroup group = process_group(mesh);
  for (std::int64_t size : {0, 3})
    expect_error([&] { RowExchange(group, {.ranks_per_node = size, .by_nodes = true}); },
                 ErrorKind::value_error, "divides the 4 ranks of the group");
}

}  // namespace
}  // namespace simmesh
