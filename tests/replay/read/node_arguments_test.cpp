#include "replay/read/node_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/trace_text.h"

namespace simmesh::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ExecutionTrace with_inputs(std::vector<std::string> lists) {
  return testing::trace_from(
      testing::trace_text({{.id = 3, .parent = 2, .name = "c10d::x", .inputs = std::move(lists)}}));
}

TEST(NodeArguments, ReadsATensorWithItsShapeAndStrides) {
  ExecutionTrace trace = with_inputs(
      {R"([5, 6, 2, 12, 4, "cuda:1"])", "[3, 4]", R"~("Tensor(c10::BFloat16)")~", "[8, 1]"});
  ASSERT_THAT(trace.tensors, SizeIs(1));
  const TraceTensor& tensor = trace.tensors[0];
  EXPECT_EQ(tensor.tensor, 5);
  EXPECT_EQ(tensor.storage, 6);
  EXPECT_EQ(tensor.offset, 2);
  EXPECT_EQ(tensor.elements, 12);
  EXPECT_EQ(tensor.item_bytes, 4);
  EXPECT_EQ(trace.text(tensor.device), "cuda:1");
  EXPECT_EQ(trace.text(tensor.type), "c10::BFloat16");
  EXPECT_THAT(trace.numbers_in(tensor.shape), ElementsAre(3, 4));
  EXPECT_THAT(trace.numbers_in(*tensor.strides), ElementsAre(8, 1));
  EXPECT_TRUE(tensor.is_defined);
  EXPECT_THAT(trace.findings, IsEmpty());
}

TEST(NodeArguments, ReadsTensorsInListsOfLists) {
  ExecutionTrace trace = with_inputs(
      {R"([[[5, 6, 0, 1, 4, "cpu"], [7, 8, 0, 2, 8, "cpu"]], []], 3)", "[[[1], [2]], []], []",
       R"("GenericList[GenericList[Tensor(float),Tensor(long int)],GenericList[]]", "Int")",
       "[[[1], [1]], []], []"});
  ASSERT_THAT(trace.tensors, SizeIs(2));
  EXPECT_EQ(trace.text(trace.tensors[1].type), "long int");
  EXPECT_THAT(trace.numbers_in(trace.tensors[1].shape), ElementsAre(2));
  EXPECT_THAT(trace.findings, IsEmpty());
}

TEST(NodeArguments, UndefinedTensorsHaveNoStorageOrNoDevice) {
  ExecutionTrace trace = with_inputs(
      {R"([0, 0, 0, 0, 0, ""], [5, 6, 0, 1, 4], [5, 6, 0, 1, 4, ""])", "[0], [1], [1]",
       R"~("Tensor(nullptr (uninitialized))", "Tensor(float)", "Tensor(float)")~", "[], [1], [1]"});
  ASSERT_THAT(trace.tensors, SizeIs(3));
  EXPECT_FALSE(trace.tensors[0].is_defined);
  EXPECT_EQ(trace.text(trace.tensors[0].type), "nullptr (uninitialized)");
  // The old form has no device at all.
  EXPECT_TRUE(trace.tensors[1].is_defined);
  EXPECT_FALSE(trace.tensors[2].is_defined);
}

TEST(NodeArguments, AListThatWasCutMayHaveMoreEntriesThanTypes) {
  ExecutionTrace trace = with_inputs({R"([[5, 6, 0, 1, 4, "cpu"], "..."], 1)", "[[1], []], []",
                                      R"("GenericList[Tensor(float)]", "Int")", "[[1], []], []"});
  EXPECT_THAT(trace.tensors, SizeIs(1));
  EXPECT_THAT(trace.findings, IsEmpty());
}

std::string only_rule(std::vector<std::string> lists) {
  ExecutionTrace trace = with_inputs(std::move(lists));
  if (trace.findings.size() != 1) return fmt::format("{} findings", trace.findings.size());
  EXPECT_EQ(trace.findings[0].node, 3);
  EXPECT_EQ(trace.findings[0].field, "inputs");
  return trace.findings[0].rule;
}

TEST(NodeArguments, ReportsTensorsThatAreNone) {
  for (const char* tuple :
       {R"([5, 6, 0, -1, 4, "cpu"])", R"([5, 6, 0, 1])", R"([5, 6, 0, 1, 4, "cpu", 7])",
        R"([5, 6, "0", 1, 4, "cpu"])", R"([5, 6, 0, 1, 4, 0])", "7", R"([5, 6, 0, 1.5, 4, "cpu"])",
        R"([5, 6, 9007199254740992, 1, 4, "cpu"])", R"([5, 6, 0, 1, 65, "cpu"])"})
    EXPECT_EQ(only_rule({tuple, "[1]", R"~("Tensor(float)")~", "[1]"}), "tensor_tuple") << tuple;
  EXPECT_EQ(only_rule({R"([5, 6, 0, 1, 4, "cpu"])", "7", R"~("Tensor(float)")~", "[1]"}),
            "tensor_tuple");
}

TEST(NodeArguments, ReportsListsThatDoNotGoTogether) {
  EXPECT_EQ(only_rule({"1", "[]", R"("Int", "Int")", "[]"}), "io_lists");
  EXPECT_EQ(only_rule({"1, 2", "[]", R"("Int", "Int")", "[]"}), "io_lists");
  EXPECT_EQ(only_rule({"1", "[]", "5", "[]"}), "io_lists");
}

TEST(NodeArguments, TypesEndAtCommasOutsideOfBrackets) {
  std::string_view types = "Tensor(c10::complex<float>),GenericList[Int,Int],,Int";
  EXPECT_EQ(next_type(types), "Tensor(c10::complex<float>)");
  EXPECT_EQ(next_type(types), "GenericList[Int,Int]");
  EXPECT_EQ(next_type(types), "");
  EXPECT_EQ(next_type(types), "Int");
  EXPECT_EQ(next_type(types), "");
  std::string_view unbalanced = "Int),Int";
  EXPECT_EQ(next_type(unbalanced), "Int)");
}

TEST(NodeArguments, HasC10sWordsForTypes) {
  EXPECT_EQ(c10_type("float"), "Float");
  EXPECT_EQ(c10_type("long int"), "Long");
  EXPECT_EQ(c10_type("long"), "Long");
  EXPECT_EQ(c10_type("unsigned char"), "Byte");
  EXPECT_EQ(c10_type("c10::BFloat16"), "BFloat16");
  EXPECT_EQ(c10_type("c10::Float8_e4m3fn"), "Float8_e4m3fn");
  EXPECT_EQ(c10_type("c10::complex<double>"), "ComplexDouble");
  EXPECT_EQ(c10_type("something"), "something");
}

}  // namespace
}  // namespace simmesh::replay
