#include "core/arithmetic/reductions/vendor_orders.h"

#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/tensor/formula.h"
#include "tests/core/arithmetic/reduced.h"

namespace simmesh {
namespace {

using Members = std::vector<std::size_t>;

std::vector<Tensor> wide_operands(std::size_t members, std::int64_t count) {
  std::vector<Tensor> operands;
  for (std::uint64_t r = 0; r < members; ++r)
    operands.push_back(formula({count}, {.rule = Rule::wide, .seed = 20 + r}));
  return operands;
}

float float_at(const Tensor& tensor, std::size_t i) { return tensor.values<float>()[i]; }

// ExpectedChunk lists by hand which elements are added in which order of the members.
struct ExpectedChunk {
  std::size_t begin;
  std::size_t end;
  Members order;
};

void expect_chunks(const Tensor& actual, const std::vector<Tensor>& operands,
                   const std::vector<ExpectedChunk>& chunks) {
  std::size_t next = 0;
  for (const ExpectedChunk& chunk : chunks) {
    ASSERT_EQ(chunk.begin, next) << "the expectation has a hole";
    for (next = chunk.begin; next < chunk.end; ++next) {
      float value = float_at(operands[chunk.order[0]], next);
      for (std::size_t i = 1; i < chunk.order.size(); ++i)
        value = float_at(operands[chunk.order[i]], next) + value;
      EXPECT_EQ(float_at(actual, next), value) << "element " << next;
    }
  }
  EXPECT_EQ(std::int64_t(next), actual.numel());
}

// If this fails, chunks of NCCL's ring start at a wrong member. One element says it plainly: the
// left fold of 1, 2^24, -2^24 is 0, the other two orders of the ring give 1.
TEST(NcclRing, StartsBehindTheChunksMember) {
  std::vector<Tensor> operands = {full({12}, DType::float32, 1), full({12}, DType::float32, 0x1p24),
                                  full({12}, DType::float32, -0x1p24)};
  Tensor sum = reduced(NcclRingOrder({.chunk_bytes = 16}), operands);
  EXPECT_EQ(to_string(sum), "float32[12] {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}");
}

// If this fails, the chunks of a loop or of the short last loop are cut elsewhere.
TEST(NcclRing, LoopsAndShortLastLoop) {
  std::vector<Tensor> three = wide_operands(3, 10);
  // A loop of 3 x 2 elements; the rest of 4 makes chunks of roundup(ceil(4/3), 4) = 4.
  expect_chunks(reduced(NcclRingOrder({.chunk_bytes = 8}), three), three,
                {{0, 2, {1, 2, 0}}, {2, 4, {2, 0, 1}}, {4, 6, {0, 1, 2}}, {6, 10, {1, 2, 0}}});
  std::vector<Tensor> four = wide_operands(4, 30);
  // One loop: chunks of roundup(ceil(30/4), 4) = 8, the last one cut at 30.
  expect_chunks(reduced(NcclRingOrder({}), four), four,
                {{0, 8, {1, 2, 3, 0}},
                 {8, 16, {2, 3, 0, 1}},
                 {16, 24, {3, 0, 1, 2}},
                 {24, 30, {0, 1, 2, 3}}});
}

// If this fails, channels interleave or share chunks instead of owning contiguous ranges.
TEST(NcclRing, ChannelsOwnContiguousRanges) {
  std::vector<Tensor> three = wide_operands(3, 10);
  // Channels 0..5 and 5..10, each with chunks of roundup(ceil(5/3), 4) = 4 elements.
  expect_chunks(reduced(NcclRingOrder({.channels = 2}), three), three,
                {{0, 4, {1, 2, 0}}, {4, 5, {2, 0, 1}}, {5, 9, {1, 2, 0}}, {9, 10, {2, 0, 1}}});
}

// If this fails, a reduce-scatter adds a member's block in the order of another block.
TEST(NcclRing, ReduceScatterEndsAtTheOwner) {
  std::vector<Tensor> three = wide_operands(3, 20);
  const Members orders[] = {{1, 2, 0}, {2, 0, 1}, {0, 1, 2}};
  for (std::int64_t owner = 0; owner < 3; ++owner)
    expect_chunks(reduced(NcclRingOrder({}), three, {.owner = owner}), three,
                  {{0, 20, orders[owner]}});
}

// If this fails, gloo's chunks are cut elsewhere, or its ring runs upwards.
TEST(GlooRing, ChunksRunDownwardsToTheirMember) {
  std::vector<Tensor> three = wide_operands(3, 7);
  // 28 bytes: segments of roundup(ceil(28/6), 4) = 8 bytes, roundup(max(4, 6), 3) = 6 of them, so
  // chunks of two segments, which are 4 elements; the third is empty.
  expect_chunks(reduced(GlooRingOrder(), three), three, {{0, 4, {2, 1, 0}}, {4, 7, {0, 2, 1}}});
  std::vector<Tensor> four = wide_operands(4, 32);
  // 128 bytes: segments of 16 bytes, 8 of them, chunks of 8 elements.
  expect_chunks(reduced(GlooRingOrder(), four), four,
                {{0, 8, {3, 2, 1, 0}},
                 {8, 16, {0, 3, 2, 1}},
                 {16, 24, {1, 0, 3, 2}},
                 {24, 32, {2, 1, 0, 3}}});
}

// If this fails, averages are scaled at the wrong end: NCCL scales operands, gloo divides the sum.
TEST(VendorOrders, AveragesScaleFirstOrDivideLast) {
  std::vector<Tensor> three = wide_operands(3, 4);  // one chunk of each ring
  float third = float(1.0 / 3);
  Tensor ring = reduced(NcclRingOrder({}), three, {.op = ReduceOp::avg});
  Tensor tree = reduced(NcclTreeOrder({}), three, {.op = ReduceOp::avg});
  Tensor gloo = reduced(GlooRingOrder(), wide_operands(3, 2), {.op = ReduceOp::avg});
  Tensor scaled =
      reduced(GlooRingOrder(), wide_operands(3, 2), {.op = ReduceOp::premul_sum, .factor = 0.1});
  for (std::size_t i = 0; i < 4; ++i) {
    float x = float_at(three[0], i), y = float_at(three[1], i), z = float_at(three[2], i);
    EXPECT_EQ(float_at(ring, i), x * third + (z * third + y * third)) << i;
    EXPECT_EQ(float_at(tree, i), x * third + (y * third + z * third)) << i;
    if (i >= 2) continue;
    EXPECT_EQ(float_at(gloo, i), (x + (y + z)) / 3) << i;
    EXPECT_EQ(float_at(scaled, i), x * 0.1f + (y * 0.1f + z * 0.1f)) << i;
  }
}

// "0(2(1 3))" is member 0 with child 2, whose children 1 and 3 are added in this order.
std::string text(const NcclTreeOrder::Tree& tree, std::size_t node) {
  std::string children;
  for (std::size_t child : tree.nodes[node].children)
    children += (children.empty() ? "" : " ") + text(tree, child);
  return children.empty() ? fmt::format("{}", node) : fmt::format("{}({})", node, children);
}

std::string tree_text(std::int64_t ranks_per_host, std::size_t members, bool second) {
  NcclTreeOrder order({.ranks_per_host = ranks_per_host});
  NcclTreeOrder::Tree tree = order.tree(members, second);
  EXPECT_EQ(tree.nodes.size(), members);
  return text(tree, tree.root);
}

// If this fails, sums over 1 to 9 members are added along another tree than NCCL's.
TEST(NcclTree, ShapesAreThoseOfTheRule) {
  const char* one[] = {"0",
                       "0(1)",
                       "0(2(1))",
                       "0(2(1 3))",
                       "0(4(2(1 3)))",
                       "0(4(2(1 3) 5))",
                       "0(4(2(1 3) 6(5)))",
                       "0(4(2(1 3) 6(5 7)))",
                       "0(8(4(2(1 3) 6(5 7))))"};
  const char* one_second[] = {"0",
                              "1(0)",
                              "1(0(2))",
                              "3(1(2 0))",
                              "1(0(3(2 4)))",
                              "5(1(3(4 2) 0))",
                              "1(5(3(2 4) 0(6)))",
                              "7(3(5(6 4) 1(2 0)))",
                              "1(0(5(3(2 4) 7(6 8))))"};
  const char* two[] = {"0",
                       "0(1)",
                       "0(1 2)",
                       "0(1 2(3))",
                       "0(1 4(2(3)))",
                       "0(1 4(5 2(3)))",
                       "0(1 4(5 2(3) 6))",
                       "0(1 4(5 2(3) 6(7)))",
                       "0(1 8(4(5 2(3) 6(7))))"};
  const char* two_second[] = {"0",
                              "0(1)",
                              "2(0(1))",
                              "2(3 0(1))",
                              "2(3 0(1 4))",
                              "2(3 0(1 4(5)))",
                              "6(2(3 4(5) 0(1)))",
                              "6(7 2(3 4(5) 0(1)))",
                              "2(3 0(1 6(7 4(5) 8)))"};
  const char* four[] = {"0",
                        "0(1)",
                        "0(1(2))",
                        "0(1(2(3)))",
                        "0(1(2(3)) 4)",
                        "0(1(2(3)) 4(5))",
                        "0(1(2(3)) 4(5(6)))",
                        "0(1(2(3)) 4(5(6(7))))",
                        "0(1(2(3)) 8(4(5(6(7)))))"};
  for (std::size_t members = 1; members <= 9; ++members) {
    EXPECT_EQ(tree_text(1, members, false), one[members - 1]);
    EXPECT_EQ(tree_text(1, members, true), one_second[members - 1]);
    EXPECT_EQ(tree_text(2, members, false), two[members - 1]);
    EXPECT_EQ(tree_text(2, members, true), two_second[members - 1]);
    EXPECT_EQ(tree_text(4, members, false), four[members - 1]);
  }
  EXPECT_EQ(tree_text(4, 9, true), "4(5(6(7)) 0(1(2(3)) 8))");
}

// If this fails, the tree's children disagree with NCCL's rule for parents, stated on its own.
TEST(NcclTree, ChildrenAreTheInverseOfParents) {
  for (std::size_t hosts = 1; hosts <= 70; ++hosts) {
    NcclTreeOrder::Tree tree = NcclTreeOrder({.ranks_per_host = 1}).tree(hosts, false);
    std::vector<std::size_t> parent(hosts, hosts);
    for (std::size_t host = 0; host < hosts; ++host)
      for (std::size_t child : tree.nodes[host].children) {
        EXPECT_EQ(parent[child], hosts) << "two parents";
        parent[child] = host;
      }
    EXPECT_EQ(parent[0], hosts);
    for (std::size_t host = 1; host < hosts; ++host) {
      std::size_t low = host & -host, up = (host ^ low) | (2 * low);
      EXPECT_EQ(parent[host], up < hosts ? up : host ^ low) << host << " of " << hosts;
    }
  }
}

// If this fails, a member folds its children before itself, or a channel takes the wrong tree.
TEST(NcclTree, FoldsOwnThenChildrenAndHalvesTheChannels) {
  std::vector<Tensor> four = wide_operands(4, 10);
  Tensor sum = reduced(NcclTreeOrder({.ranks_per_host = 1, .channels = 2}), four);
  Tensor hosts = reduced(NcclTreeOrder({.ranks_per_host = 2}), four);
  Tensor chain = reduced(NcclTreeOrder({}), four);
  for (std::size_t i = 0; i < 10; ++i) {
    float x0 = float_at(four[0], i), x1 = float_at(four[1], i), x2 = float_at(four[2], i),
          x3 = float_at(four[3], i);
    EXPECT_EQ(float_at(sum, i), i < 5 ? x0 + ((x2 + x1) + x3) : x3 + ((x1 + x2) + x0)) << i;
    EXPECT_EQ(float_at(hosts, i), (x0 + x1) + (x2 + x3)) << i;
    EXPECT_EQ(float_at(chain, i), x0 + (x1 + (x2 + x3))) << i;
  }
}

}  // namespace
}  // namespace simmesh
