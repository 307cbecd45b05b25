#include "replay/read/read_comm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/trace_text.h"

namespace simmesh::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A node of these arguments; of the tensors first where there are some.
ExecutionTrace comm_of_arguments(std::string_view arguments, bool has_tensors) {
  testing::NodeText node{.id = 3, .parent = 2, .name = "record_param_comms"};
  std::string types, empties;
  std::size_t count = 0;
  for (std::size_t i = 0, depth = 0; i <= arguments.size(); ++i) {
    char byte = i < arguments.size() ? arguments[i] : ',';
    depth += byte == '[';
    depth -= byte == ']';
    if (byte != ',' || depth > 0) continue;
    types += count > 0 ? R"(, "x")" : R"("x")";
    empties += count++ > 0 ? ", []" : "[]";
  }
  node.inputs = {std::string(arguments), empties, types, empties};
  if (has_tensors) {
    node.inputs[0] = R"([[5, 6, 0, 12, 4, "cpu"], [7, 8, 0, 3, 4, "cpu"]], )" + node.inputs[0];
    node.inputs[1] = "[[12], [3]], " + node.inputs[1];
    node.inputs[2] = R"("GenericList[Tensor(float),Tensor(float)]", )" + node.inputs[2];
    node.outputs = testing::tensor_lists(9, 15);
  }
  return testing::trace_from(testing::trace_text({node}));
}

TEST(ReadComm, ReadsTheOldestForm) {
  ExecutionTrace trace =
      comm_of_arguments(R"(147, 94594108284448, 2, "all_to_allv", [8, 7], [9, 6])", true);
  ASSERT_THAT(trace.comms, SizeIs(1));
  EXPECT_THAT(trace.findings, IsEmpty());
  const TraceComm& comm = trace.comms[0];
  EXPECT_EQ(comm.request, (TraceRequest{147, std::nullopt}));
  EXPECT_EQ(comm.group.address, 94594108284448);
  EXPECT_EQ(comm.rank, 2);
  EXPECT_EQ(trace.text(comm.name), "all_to_allv");
  EXPECT_THAT(trace.numbers_in(comm.in_split), ElementsAre(8, 7));
  EXPECT_THAT(trace.numbers_in(comm.out_split), ElementsAre(9, 6));
  EXPECT_EQ(comm.in_elements, 15);
  EXPECT_EQ(comm.out_elements, 15);
  EXPECT_EQ(trace.text(comm.dtype), "Float");
  EXPECT_EQ(comm.group_size, 0);
}

TEST(ReadComm, ReadsTheSizeOfTheGroupAlone) {
  ExecutionTrace trace = comm_of_arguments(R"(147, 945, 2, "all_gather", [], [], 16)", true);
  EXPECT_THAT(trace.findings, IsEmpty());
  EXPECT_EQ(trace.comms[0].group_size, 16);
  EXPECT_EQ(trace.comms[0].global_rank_start, -1);
}

TEST(ReadComm, ReadsGroupsByNameAndRequestsByNumberAndKind) {
  ExecutionTrace trace =
      comm_of_arguments(R"([5, true], ["1", "dp"], 3, "send", [], [], 2, 1, 4, true)", true);
  EXPECT_THAT(trace.findings, IsEmpty());
  const TraceComm& comm = trace.comms[0];
  EXPECT_EQ(comm.request, (TraceRequest{5, true}));
  EXPECT_EQ(trace.text(comm.group.name_and_description->first), "1");
  EXPECT_EQ(trace.text(comm.group.name_and_description->second), "dp");
  EXPECT_EQ(comm.global_rank_start, 2);
  EXPECT_EQ(comm.global_rank_stride, 1);
  EXPECT_EQ(comm.group_size, 4);
  EXPECT_EQ(comm.is_asynchronous, true);
}

TEST(ReadComm, AWaitHasNoTensors) {
  for (const char* request : {"7", "[7, false]"}) {
    ExecutionTrace trace = comm_of_arguments(
        fmt::format(R"({}, ["", ""], 0, "wait", [], [], -1, -1, 1)", request), false);
    EXPECT_THAT(trace.findings, IsEmpty());
    EXPECT_FALSE(trace.comms[0].has_tensors());
    EXPECT_EQ(trace.comms[0].request.sequence, 7);
    EXPECT_EQ(trace.comms[0].is_asynchronous, std::nullopt);
  }
}

TEST(ReadComm, ReportsArgumentsOfAnotherForm) {
  for (const char* arguments : {R"("x", 1, 2, "send", [], [])", R"(1, [1], 2, "send", [], [])",
                                R"(1, 1, "2", "send", [], [])", R"(1, 1, 2, 5, [], [])",
                                R"(1, 1, 2, "send", 5, [])", R"(1, 1, 2, "send", [], ["x"])",
                                "1, 1, 2", "1", R"(1, 1, 2, "send", [], [], 0, 1, 4, 5)"}) {
    ExecutionTrace trace = comm_of_arguments(arguments, true);
    ASSERT_GE(trace.findings.size(), 1u) << arguments;
    EXPECT_EQ(trace.findings.back().rule, "comm_arguments") << arguments;
    EXPECT_EQ(trace.findings.back().node, 3);
  }
}

}  // namespace
}  // namespace simmesh::replay
