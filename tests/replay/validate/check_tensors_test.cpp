#include "replay/validate/check_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/made_job.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;

struct TensorToCheck {
  std::vector<std::int64_t> shape;
  std::optional<std::vector<std::int64_t>> strides = std::nullopt;
  std::int64_t elements = 0;
  std::int64_t offset = 0;
  std::string type = "float";
  std::int64_t item_bytes = 4;
};

// The findings about a view as the input of node 3.
std::string tensor_faults(const TensorToCheck& view, bool is_defined = true) {
  testing::MadeTrace made(0);
  made.op("aten::relu", 1);
  ExecutionTrace& trace = made.trace();
  auto add = [&](const std::vector<std::int64_t>& list) {
    auto begin = std::uint32_t(trace.numbers.size());
    trace.numbers.insert(trace.numbers.end(), list.begin(), list.end());
    return TraceRange{.begin = begin, .end = std::uint32_t(trace.numbers.size())};
  };
  TraceTensor& tensor = trace.tensors[0];
  tensor.shape = add(view.shape);
  if (view.strides) tensor.strides = add(*view.strides);
  tensor.elements = view.elements;
  tensor.offset = view.offset;
  tensor.type = trace.texts.id_of(view.type);
  tensor.item_bytes = view.item_bytes;
  tensor.is_defined = is_defined;
  Findings findings;
  check_tensors(made.done(), findings);
  return testing::findings_text(findings);
}

TEST(CheckTensors, TheShapeSaysHowManyElementsThereAre) {
  EXPECT_EQ(tensor_faults({.shape = {2, 3}, .elements = 6}), "");
  EXPECT_EQ(tensor_faults({.shape = {}, .elements = 1}), "");
  EXPECT_EQ(tensor_faults({.shape = {3, 0, 1L << 62, 1L << 62}, .elements = 0}), "");
  EXPECT_EQ(tensor_faults({.shape = {3, 7}, .elements = 6}),
            "error numel: rank 0 node 3 inputs: tensor 101: the shape [3, 7] has 21 elements, the "
            "tuple says 6\n");
  EXPECT_EQ(tensor_faults({.shape = {}, .elements = 6}),
            "warning shape_missing: rank 0 node 3 inputs: tensor 101: no shape is recorded for its "
            "6 elements\n");
  EXPECT_THAT(tensor_faults({.shape = {1L << 62, 4}, .elements = 6}),
              HasSubstr("too many elements"));
}

TEST(CheckTensors, TheDtypeSaysHowLargeAnElementIs) {
  const std::pair<const char*, std::int64_t> sizes[] = {{"float", 4},
                                                        {"double", 8},
                                                        {"long int", 8},
                                                        {"long", 8},
                                                        {"int", 4},
                                                        {"short", 2},
                                                        {"short int", 2},
                                                        {"unsigned char", 1},
                                                        {"signed char", 1},
                                                        {"bool", 1},
                                                        {"c10::Half", 2},
                                                        {"c10::BFloat16", 2},
                                                        {"c10::Float8_e5m2", 1},
                                                        {"c10::complex<float>", 8},
                                                        {"c10::complex<double>", 16}};
  for (const auto& [type, bytes] : sizes)
    for (std::int64_t item_bytes : {1, 2, 3, 4, 8, 16}) {
      std::string text =
          tensor_faults({.shape = {2}, .elements = 2, .type = type, .item_bytes = item_bytes});
      EXPECT_EQ(text.find("item_size") == std::string::npos, item_bytes == bytes)
          << type << " of " << item_bytes;
    }
  EXPECT_EQ(tensor_faults({.shape = {2}, .elements = 2, .type = "c10::qint8", .item_bytes = 3}),
            "");
}

TEST(CheckTensors, EachDimHasAStride) {
  EXPECT_EQ(tensor_faults({.shape = {2, 3}, .strides = {{3, 1}}, .elements = 6}), "");
  EXPECT_EQ(tensor_faults({.shape = {2, 3}, .strides = std::vector<std::int64_t>(), .elements = 6}),
            "");
  EXPECT_THAT(tensor_faults({.shape = {2, 3}, .strides = {{1}}, .elements = 6}),
              HasSubstr("error strides: rank 0 node 3 inputs: tensor 101: expected a stride for "
                        "each of 2 dims, got [1]"));
}

TEST(CheckTensors, AViewLiesInItsStorage) {
  EXPECT_EQ(tensor_faults({.shape = {2}, .elements = 2, .offset = 1L << 40}), "");
  EXPECT_THAT(tensor_faults({.shape = {2}, .elements = 2, .offset = -1}),
              HasSubstr("error view_bounds: rank 0 node 3 inputs: tensor 101: expected a view "
                        "inside of its storage, got offset -1"));
  EXPECT_THAT(tensor_faults({.shape = {2}, .strides = {{-1}}, .elements = 2}),
              HasSubstr("offset 0 and negative strides"));
  EXPECT_THAT(tensor_faults({.shape = {2}, .elements = 2, .offset = INT64_MAX}),
              HasSubstr("ends beyond 2^63 bytes"));
  EXPECT_THAT(tensor_faults({.shape = {3}, .strides = {{INT64_MAX}}, .elements = 3}),
              HasSubstr("ends beyond 2^63 bytes"));
  EXPECT_THAT(tensor_faults({.shape = {2}, .elements = 2, .offset = INT64_MAX / 4}),
              HasSubstr("ends beyond 2^63 bytes"));
}

TEST(CheckTensors, UndefinedTensorsSayNothing) {
  EXPECT_EQ(tensor_faults({.shape = {3}, .elements = 7, .offset = -1}, false), "");
}

}  // namespace
}  // namespace simmesh::replay
