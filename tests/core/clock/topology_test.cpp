#include "core/clock/topology.h"

#include <gtest/gtest.h>

#include "core/tensor/shape.h"

namespace simmesh {
namespace {

constexpr Link inside{87.7, 0.6};
constexpr Link between{87.7 * 0.22, 2.7};

// If this fails, a mesh dim is priced as if it stayed inside a host although it leaves it, or the
// other way round.
TEST(Topology, ADimLeavesTheHostWhereTheProductOfSizesDoes) {
  const Topology hosts_of_8{.devices_per_host = 8};
  const Dims mesh{2, 4, 2};
  EXPECT_EQ(hosts_of_8.link(mesh, 2), inside);
  EXPECT_EQ(hosts_of_8.link(mesh, 1), inside);
  EXPECT_EQ(hosts_of_8.link(mesh, 0), between);
  EXPECT_EQ(hosts_of_8.link(Dims{16}, 0), between);
  EXPECT_EQ(hosts_of_8.link(Dims{1, 8}, 0), inside);
  const Topology hosts_of_1;
  EXPECT_EQ(hosts_of_1.link(Dims{2, 1}, 1), inside);
  EXPECT_EQ(hosts_of_1.link(Dims{2, 1}, 0), between);
}

// If this fails, the formulas differ from the documented ones: latency plus bytes over bandwidth,
// by ring hops.
TEST(Topology, CostsFollowTheRingFormulas) {
  const Topology topology;
  const double gigabyte = 1024.0 * 1024.0 * 1024.0;
  EXPECT_EQ(topology.all_gather_us(gigabyte, 4, inside), (6.6 + 3 * 0.6) + 3.0 / 4 / 87.7 * 1e6);
  EXPECT_EQ(topology.reduce_scatter_us(gigabyte, 4, inside),
            topology.all_gather_us(gigabyte, 4, inside));
  EXPECT_EQ(topology.all_reduce_us(gigabyte, 4, between),
            (6.6 + 6 * 2.7) + 6.0 / 4 / (87.7 * 0.22) * 1e6);
  EXPECT_EQ(topology.all_to_all_us(gigabyte, 4, inside),
            topology.all_gather_us(gigabyte, 4, inside) + 1.0);
}

// If this fails, a group of one rank would pay for bytes that never move.
TEST(Topology, AGroupOfOnePaysTheBaseOnly) {
  const Topology topology;
  EXPECT_EQ(topology.all_gather_us(1e9, 1, inside), 6.6);
  EXPECT_EQ(topology.all_reduce_us(1e9, 1, between), 6.6);
}

// If this fails, ranks of one host are priced as if they were on two, or a message as a collective.
TEST(Topology, AMessageCostsItsLink) {
  const Topology hosts_of_4{.devices_per_host = 4};
  const double gigabyte = 1024.0 * 1024.0 * 1024.0;
  EXPECT_EQ(hosts_of_4.link_among(0, 3), inside);
  EXPECT_EQ(hosts_of_4.link_among(4, 7), inside);
  EXPECT_EQ(hosts_of_4.link_among(3, 4), between);
  EXPECT_EQ(hosts_of_4.message_us(gigabyte, between), (6.6 + 2.7) + 1.0 / (87.7 * 0.22) * 1e6);
}

}  // namespace
}  // namespace simmesh
