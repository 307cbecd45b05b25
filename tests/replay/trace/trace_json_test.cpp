#include "replay/trace/trace_json.h"

#include <gtest/gtest.h>

#include "tests/replay/trace_text.h"

namespace simmesh::replay {
namespace {

testing::NodeText wait_node(std::string request, std::string group) {
  return {.id = 4,
          .parent = 2,
          .name = "record_param_comms",
          .inputs = {fmt::format(R"({}, {}, 3, "wait", [], [])", request, group),
                     "[], [], [], [], [], []",
                     R"("Int", "Int", "Int", "String", "GenericList[]", "GenericList[]")",
                     "[], [], [], [], [], []"}};
}

std::string only_comm(const testing::NodeText& node) {
  ExecutionTrace trace = testing::trace_from(testing::trace_text({node}));
  return comm_list_json(trace, replay_list(trace, tree_of(trace))).text();
}

TEST(TraceJson, KeepsTheFormInWhichRequestsAndGroupsAreRecorded) {
  EXPECT_EQ(only_comm(wait_node("141", "94594108284448")),
            R"([{"node":4,"name":"wait","req":141,"group":94594108284448,"rank":3,)"
            R"("in_split":[],"out_split":[],"in":0,"out":0,"dtype":null}])");
  EXPECT_EQ(only_comm(wait_node("[7, true]", R"(["1", "dp"])")),
            R"([{"node":4,"name":"wait","req":[7,true],"group":["1","dp"],"rank":3,)"
            R"("in_split":[],"out_split":[],"in":0,"out":0,"dtype":null}])");
}

TEST(TraceJson, LabelsHaveTheirListsOfIntegers) {
  testing::NodeText label{.id = 3, .parent = 2, .name = "c10d::alltoall_base_"};
  label.inputs = {R"([5, 6, 0, 7, 8, "cpu"], [1, 4, 2], [], "x")", "[7], [[], [], []], [], []",
                  R"~("Tensor(long int)", "GenericList[Int,Int,Int]", "GenericList[]", "String")~",
                  "[1], [[], [], []], [], []"};
  ExecutionTrace trace = testing::trace_from(testing::trace_text({label}));
  EXPECT_EQ(label_list_json(trace).text(),
            R"([{"node":3,"name":"c10d::alltoall_base_","in":[],"out":[["long int",7]],)"
            R"("ints":[[1,4,2]]}])");
}

TEST(TraceJson, ASummaryWithoutGroupsSaysNull) {
  TraceSummary summary = summarize(testing::trace_from(testing::trace_text({})));
  std::string text = summary_json(summary).text();
  EXPECT_NE(text.find(R"("process_groups":null)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("threads":{"0":1,"1":1})"), std::string::npos) << text;
}

}  // namespace
}  // namespace simmesh::replay
