#include "sharding/typed/global_rule.h"

#include <gtest/gtest.h>
#include <vector>

#include "sharding/typed/type_refusal.h"

namespace simmesh::typed {
namespace {

using enum SpmdType;

const TypingContext global_context{.axes = {{"tp", 4}}, .is_global = true};

LocalOperand cut_operand(const TypeOnAxis& type) {
  TypedTensor tensor{.shape = {4, 4}};
  tensor.set_type("tp", type);
  return {.tensor = tensor};
}
const LocalOperand cut_rows = cut_operand({varying, 0}), cut_columns = cut_operand({varying, 1});
const LocalOperand uncut = cut_operand({replicate});

TypeOnAxis followed(std::string_view op, const std::vector<LocalOperand>& operands,
                    std::vector<std::int64_t> dims = {}, std::int64_t result_dims = 2) {
  return infer_global(
             {.op = op, .operands = operands, .dims = std::move(dims), .result_dims = result_dims},
             global_context)
      .full_type_on("tp")
      .value();
}

void expect_cut_refused(RefusalCode code, std::string_view op,
                        const std::vector<LocalOperand>& operands,
                        std::vector<std::int64_t> dims = {}) {
  try {
    followed(op, operands, std::move(dims));
    FAIL() << op << " is accepted";
  } catch (const TypeRefusal& refusal) {
    EXPECT_EQ(refusal.code(), code) << op;
  }
}

// If this fails, a cut moves to a dim where the pieces don't make the tensor.
TEST(GlobalRule, FollowsCutDims) {
  EXPECT_EQ(followed("relu", {cut_columns}), (TypeOnAxis{varying, 1}));
  EXPECT_EQ(followed("transpose", {cut_rows}, {0, 1}), (TypeOnAxis{varying, 1}));
  EXPECT_EQ(followed("unsqueeze", {cut_rows}, {0}, 3), (TypeOnAxis{varying, 1}));
  EXPECT_EQ(followed("unsqueeze", {cut_rows}, {1}, 3), (TypeOnAxis{varying, 0}));
  EXPECT_EQ(followed("sum_dim", {cut_columns}, {0}, 1), (TypeOnAxis{varying, 0}));
  EXPECT_EQ(followed("sum_dim", {cut_columns}, {-1}, 1), TypeOnAxis{partial});
  EXPECT_EQ(followed("matmul", {cut_rows, uncut}), (TypeOnAxis{varying, 0}));
  EXPECT_EQ(followed("matmul", {uncut, cut_columns}), (TypeOnAxis{varying, 1}));
  EXPECT_EQ(followed("matmul", {cut_columns, cut_rows}), TypeOnAxis{partial});
  EXPECT_EQ(followed("cat", {cut_rows, cut_rows}, {1}), (TypeOnAxis{varying, 0}));
}

LocalOperand operand_of_shape(Shape shape, const TypeOnAxis& type) {
  TypedTensor tensor{.shape = std::move(shape)};
  tensor.set_type("tp", type);
  return {.tensor = tensor};
}

// If this fails, cuts of operands of different dims don't line up from the last dim on, or a
// product of more dims or with a transposed operand takes the wrong dim for the summed one.
TEST(GlobalRule, LinesUpDimsOfDifferentOperands) {
  LocalOperand row = operand_of_shape({4}, {replicate});
  EXPECT_EQ(followed("add", {cut_rows, row}), (TypeOnAxis{varying, 0}));
  EXPECT_EQ(followed("mul", {operand_of_shape({4}, {varying, 0}), cut_columns}),
            (TypeOnAxis{varying, 1}));
  expect_cut_refused(RefusalCode::no_strategy, "add",
                     {operand_of_shape({4}, {varying, 0}), cut_rows});
  LocalOperand batch = operand_of_shape({2, 3, 4}, {varying, 0});
  LocalOperand summed = operand_of_shape({2, 3, 4}, {varying, 2});
  EXPECT_EQ(followed("matmul", {batch, uncut}, {}, 3), (TypeOnAxis{varying, 0}));
  EXPECT_EQ(followed("bmm", {batch, batch}, {}, 3), (TypeOnAxis{varying, 0}));
  EXPECT_EQ(followed("linear", {summed, cut_columns}, {}, 3), TypeOnAxis{partial});
  EXPECT_EQ(followed("linear", {uncut, cut_rows, operand_of_shape({4}, {varying, 0})}),
            (TypeOnAxis{varying, 1}));
  expect_cut_refused(RefusalCode::no_strategy, "linear", {summed, cut_columns, row});
  EXPECT_EQ(followed("sum_dim", {summed}, {0, 1}, 1), (TypeOnAxis{varying, 0}));
  EXPECT_EQ(followed("sum_dim", {summed}, {0, -1}, 1), TypeOnAxis{partial});
}

// If this fails, a cut that an operation can't keep is lost in silence.
TEST(GlobalRule, RefusesCutsThatCantBeKept) {
  expect_cut_refused(RefusalCode::no_strategy, "add", {cut_rows, uncut});
  expect_cut_refused(RefusalCode::no_strategy, "add", {cut_rows, cut_columns});
  expect_cut_refused(RefusalCode::no_strategy, "softmax", {cut_columns}, {-1});
  expect_cut_refused(RefusalCode::no_strategy, "cat", {cut_rows, cut_rows}, {0});
  expect_cut_refused(RefusalCode::no_strategy, "matmul", {cut_rows, cut_rows});
  expect_cut_refused(RefusalCode::no_strategy, "cumsum", {cut_rows}, {0});
  expect_cut_refused(RefusalCode::not_sum, "mean", {cut_rows});
  expect_cut_refused(RefusalCode::not_sum, "amax", {cut_rows}, {0});
  expect_cut_refused(RefusalCode::strided_shard, "flatten", {cut_columns});
  expect_cut_refused(RefusalCode::no_spec, "relu", {cut_operand({varying})});
}

}  // namespace
}  // namespace simmesh::typed
