#include "replay/write/argument_lists.h"

#include <gtest/gtest.h>

#include "replay/record/trace_builder.h"

namespace simmesh::replay {
namespace {

// In the words of a trace that PyTorch 2.13 wrote.
TEST(ArgumentLists, OfAnOpAreTensorsAndOtherArgumentsInOrder) {
  TraceBuilder builder("cpu");
  ExecutionTrace& trace = builder.trace();
  Tensor x = zeros({6, 5}, DType::float32);
  TraceNode& node = builder.node(builder.add("aten::as_strided", TraceThread::main));
  node.inputs = builder.tensors({{x, x.transpose(0, 1)}});
  trace.arguments = {builder.argument(1, "None", "\"<None>\""),
                     builder.argument(3, "GenericList[Int,Int]", "[1,5]"),
                     builder.argument(4, "GenericList[]", "[]"),
                     builder.argument(5, "Double", "0.5")};
  node.arguments = {0, 4};
  ArgumentLists lists = input_lists(trace, node);
  EXPECT_EQ(lists.values, "[[4,5,0,30,4,\"cpu\"],\"<None>\",[6,5,0,30,4,\"cpu\"],[1,5],[],0.5]");
  EXPECT_EQ(lists.shapes, "[[6,5],[],[5,6],[[],[]],[],[]]");
  EXPECT_EQ(lists.types,
            "[\"Tensor(float)\",\"None\",\"Tensor(float)\",\"GenericList[Int,Int]\","
            "\"GenericList[]\",\"Double\"]");
  EXPECT_EQ(lists.strides, "[[5,1],[],[1,5],[[],[]],[],[]]");
  EXPECT_EQ(output_lists(trace, node).values, "[]");
}

TEST(ArgumentLists, OfACommunicationHaveElevenEntries) {
  TraceBuilder builder("cpu");
  ExecutionTrace& trace = builder.trace();
  Tensor x = zeros({6}, DType::int64);
  TraceNode& node = builder.node(builder.add("record_param_comms", TraceThread::main));
  node.inputs = builder.tensors({&x, 1});
  node.comm = 0;
  TraceComm& comm = trace.comms.emplace_back();
  comm.name = builder.text("all_to_allv");
  comm.request = {10, false};
  comm.group.name_and_description = {builder.text("0"), builder.text("default_pg")};
  comm.in_split = builder.numbers(Dims{1, 3, 0, 2});
  comm.dtype = builder.text("Long");
  comm.global_rank_start = 0;
  comm.global_rank_stride = 1;
  comm.group_size = 4;
  comm.is_asynchronous = false;
  ArgumentLists lists = input_lists(trace, node);
  EXPECT_EQ(lists.values,
            "[[[4,5,0,6,8,\"cpu\"]],[10,false],[\"0\",\"default_pg\"],0,\"all_to_allv\",[1,3,0,2],"
            "[],0,1,4,false]");
  EXPECT_EQ(lists.shapes, "[[[6]],[[],[]],[[],[]],[],[],[[],[],[],[]],[],[],[],[],[]]");
  EXPECT_EQ(lists.types,
            "[\"GenericList[Tensor(long int)]\",\"Tuple[Int,Bool]\",\"Tuple[String,String]\","
            "\"Int\",\"String\",\"GenericList[Int,Int,Int,Int]\",\"GenericList[]\",\"Int\","
            "\"Int\",\"Int\",\"Bool\"]");
  EXPECT_EQ(lists.strides, "[[[1]],[[],[]],[[],[]],[],[],[[],[],[],[]],[],[],[],[],[]]");
}

}  // namespace
}  // namespace simmesh::replay
