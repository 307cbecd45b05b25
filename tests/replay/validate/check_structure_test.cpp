#include "replay/validate/check_structure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/made_job.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;

// A root, a thread and nodes from 3 on, each with the parent that is given.
std::string structure_faults(const std::vector<std::int64_t>& parents) {
  testing::MadeTrace made(0);
  for (std::int64_t parent : parents) {
    made.op("aten::relu", 4);
    made.last().parent = parent;
  }
  Findings findings;
  check_structure(made.done(), findings);
  return testing::findings_text(findings);
}

TEST(CheckStructure, ATreeIsSound) { EXPECT_EQ(structure_faults({2, 3, 3, 1, 6}), ""); }

TEST(CheckStructure, NamesTheNodesOfACircle) {
  EXPECT_EQ(structure_faults({2, 5, 6, 4}),
            "error parent_cycle: rank 0 node 4 parent: the parents of nodes 4, 5, 6 form a "
            "circle\n");
  EXPECT_EQ(structure_faults({2, 4}),
            "error parent_cycle: rank 0 node 4 parent: the parents of nodes 4 form a circle\n");
}

// All functions from three nodes to the nodes that there are: a circle is found where walking up
// from some node comes back to it.
TEST(CheckStructure, FindsEachCircle) {
  for (std::int64_t a = 1; a <= 5; ++a)
    for (std::int64_t b = 1; b <= 5; ++b)
      for (std::int64_t c = 1; c <= 5; ++c) {
        std::int64_t parents[] = {0, 1, 1, a, b, c};
        bool has_circle = false;
        for (std::int64_t start = 3; start <= 5; ++start) {
          std::int64_t at = parents[start];
          for (int step = 0; step < 6 && at != start && at > 2; ++step) at = parents[at];
          has_circle |= at == start;
        }
        bool is_found = structure_faults({a, b, c}).find("parent_cycle") != std::string::npos;
        EXPECT_EQ(is_found, has_circle) << a << b << c;
      }
}

TEST(CheckStructure, AMissingOrLaterParentIsAWarning) {
  EXPECT_THAT(structure_faults({900}),
              HasSubstr("warning parent_missing: rank 0 node 3 parent: the "
                        "parent of node 3, node 900"));
  EXPECT_THAT(structure_faults({4, 2}), HasSubstr("warning backward_parent: rank 0 node 3 parent: "
                                                  "expected a parent that began before node 3, got "
                                                  "node 4"));
}

TEST(CheckStructure, AnIdMustComeOnce) {
  testing::MadeTrace made(2);
  for (int i = 0; i < 3; ++i) {
    made.op(i == 0 ? "aten::a" : "aten::b", 4);
    made.last().id = 3;
  }
  Findings findings;
  check_structure(made.done(), findings);
  EXPECT_EQ(testing::findings_text(findings),
            "error duplicate_id: rank 2 node 3 id: two nodes have the id 3: 'aten::a' and "
            "'aten::b'\n");
}

TEST(CheckStructure, ATraceNeedsARoot) {
  RankTrace rank = testing::MadeTrace(0).done();
  rank.trace.nodes.erase(rank.trace.nodes.begin());
  Findings findings;
  check_structure(rank, findings);
  EXPECT_THAT(testing::findings_text(findings), HasSubstr("error no_root: rank 0 nodes: expected "
                                                          "one node that is its own parent"));
  rank.trace.nodes.clear();
  findings.clear();
  check_structure(rank, findings);
  EXPECT_EQ(testing::findings_text(findings),
            "error no_root: rank 0 nodes: expected nodes, got none\n");
}

TEST(CheckStructure, UnknownVersionsAreWarnings) {
  testing::MadeTrace made(0);
  Findings findings;
  for (const char* known : {"1.0.1", "1.0.2", "1.0.3", "1.0.4", "1.1.0", "1.1.1"}) {
    TraceSchema& schema = made.trace().schema;
    schema = {.text = known, .major = 1, .minor = known[2] - '0', .patch = known[4] - '0'};
    RankTrace rank{.rank = 0, .file = "", .trace = made.trace()};
    check_structure(rank, findings);
  }
  EXPECT_EQ(testing::findings_text(findings), "");
  made.trace().schema = {.text = "1.2.0-chakra.0.1.0", .major = 1, .minor = 2, .patch = 0};
  check_structure(made.done(), findings);
  EXPECT_THAT(testing::findings_text(findings), HasSubstr("got '1.2.0-chakra.0.1.0'"));
}

}  // namespace
}  // namespace simmesh::replay
