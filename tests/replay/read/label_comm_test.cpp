#include "replay/read/label_comm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/trace_text.h"

namespace simmesh::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::NodeText;
using ::testing::SizeIs;

// tensor_text is a tensor of four floats.
std::string tensor_text(int id) { return fmt::format(R"([{}, {}, 0, 4, 4, "cpu"])", id, id); }

// label_node is an operator whose arguments begin with lists of so many tensors.
NodeText label_node(std::int64_t id, std::string name, const std::vector<int>& lists,
                    const std::string& more) {
  std::string values, shapes, types;
  for (int count : lists) {
    std::string list, sizes, kinds;
    for (int i = 0; i < count; ++i) {
      list += (i > 0 ? ", " : "") + tensor_text(100 + i);
      sizes += i > 0 ? ", [4]" : "[4]";
      kinds += i > 0 ? ",Tensor(float)" : "Tensor(float)";
    }
    values += fmt::format("[{}], ", list);
    shapes += fmt::format("[{}], ", sizes);
    types += fmt::format(R"("GenericList[{}]", )", kinds);
  }
  return {.id = id,
          .parent = 2,
          .name = std::move(name),
          .op_schema = "c10d(...)",
          .inputs = {values + R"("<Object>")" + more, shapes + "[]", types + R"("Object")",
                     "[], [], []"}};
}

// The operators of a trace that are communications: names, ranks, elements in and out.
std::vector<std::string> comms_of(const std::vector<NodeText>& nodes) {
  ExecutionTrace trace = testing::trace_from(testing::trace_text(nodes));
  std::vector<std::string> words;
  for (const TraceNode& node : trace.nodes)
    if (const TraceComm* comm = trace.comm_of(node))
      words.push_back(fmt::format("{} {} {} {} {}", trace.text(comm->name), comm->rank,
                                  comm->in_elements, comm->out_elements, trace.text(comm->dtype)));
  return words;
}

// Would fail if a job on gloo had no communications, or a list of outputs counted as inputs.
TEST(LabelComm, OperatorsAreCommunications) {
  EXPECT_THAT(comms_of({label_node(3, "c10d::allreduce_", {1}, ""),
                        label_node(4, "c10d::broadcast_", {1}, ", 1, 0"),
                        label_node(5, "c10d::allgather_", {2, 1}, ""),
                        label_node(6, "c10d::send", {1}, ", 3, 0"),
                        label_node(7, "c10d::recv_", {1}, ", 2, 0"),
                        label_node(8, "c10d::alltoall_base_", {1, 1}, ", [3, 1], [2, 2]"),
                        label_node(9, "c10d::barrier", {1}, "")}),
              ElementsAre("allreduce -1 4 0 Float", "broadcast 1 4 0 Float",
                          "allgather -1 4 8 Float", "send 3 4 0 Float", "recv 2 0 4 Float",
                          "alltoall_base -1 4 4 Float", "barrier -1 0 0 "));
  EXPECT_THAT(comms_of({label_node(3, "c10d::monitored_barrier_", {1}, ""),
                        label_node(4, "c10d::broadcast_", {1}, R"(, "x", 0)")}),
              IsEmpty());
}

// Would fail if a communication of NCCL, which records both, counted twice.
TEST(LabelComm, NodesOfNcclStandForTheirOperators) {
  NodeText record{.id = 4, .parent = 3, .name = "record_param_comms"};
  record.inputs = {R"([], [1, false], ["0", ""], 0, "allreduce", [], [], 0, 1, 2)",
                   "[], [], [], [], [], [], [], [], [], []",
                   R"("", "", "", "", "", "", "", "", "", "")",
                   "[], [], [], [], [], [], [], [], [], []"};
  EXPECT_THAT(comms_of({label_node(3, "c10d::allreduce_", {1}, ""), record}), SizeIs(1));
  NodeText below = label_node(5, "c10d::allreduce_", {1}, "");
  below.parent = 4;
  EXPECT_THAT(comms_of({label_node(3, "c10d::allreduce_", {1}, ""), record, below}), SizeIs(1));
}

}  // namespace
}  // namespace simmesh::replay
