#include "sharding/typed/conversion.h"

#include <gtest/gtest.h>

#include "sharding/typed/type_refusal.h"
#include "tests/expect_error.h"

namespace simmesh::typed {
namespace {

using enum SpmdType;

const TypingContext conversion_context{.axes = {{"tp", 4}}};
const TypeOnAxis on_rows{varying, 0}, on_columns{varying, 1};

Conversion conversion_of(std::string op, const TypeOnAxis& src, const TypeOnAxis& dst,
                         bool is_expert = false) {
  return {.op = std::move(op), .src = src, .dst = dst, .axes = {"tp"}, .is_expert = is_expert};
}

TypedTensor tensor_to_convert(SpmdType type) {
  return {.types = AxisTypes{{"tp", type}}, .shape = {4, 8}, .requires_grad = true};
}

Converted run_conversion(const Conversion& call, SpmdType type) {
  return convert_type(call, tensor_to_convert(type), conversion_context);
}

void expect_conversion_refused(RefusalCode code, const Conversion& call, const TypedTensor& tensor,
                               const TypingContext& context = conversion_context) {
  try {
    convert_type(call, tensor, context);
    FAIL() << call.op << " is accepted";
  } catch (const TypeRefusal& refusal) {
    EXPECT_EQ(refusal.code(), code) << call.op;
  }
}

// If this fails, a collective gives a tensor another shape or type than the ranks then hold.
TEST(TypedConversion, CollectivesChangeTypeAndShape) {
  Converted sum = run_conversion(conversion_of("all_reduce", {partial}, {invariant}), partial);
  EXPECT_EQ(sum.tensor.type_on("tp"), invariant);
  EXPECT_EQ(sum.tensor.shape, (Shape{4, 8}));
  EXPECT_EQ(
      run_conversion(conversion_of("all_gather", {varying}, {replicate}), varying).tensor.shape,
      (Shape{4, 4, 8}));
  EXPECT_EQ(
      run_conversion(conversion_of("all_gather", on_columns, {replicate}), varying).tensor.shape,
      (Shape{4, 32}));
  EXPECT_EQ(
      run_conversion(conversion_of("reduce_scatter", {partial}, {varying}), partial).tensor.shape,
      (Shape{8}));
  EXPECT_EQ(
      run_conversion(conversion_of("reduce_scatter", {partial}, on_columns), partial).tensor.shape,
      (Shape{4, 2}));
  EXPECT_EQ(run_conversion(conversion_of("all_to_all", on_rows, on_columns), varying).tensor.shape,
            (Shape{16, 2}));
  EXPECT_EQ(run_conversion(conversion_of("convert", {replicate}, on_rows), replicate).tensor.shape,
            (Shape{1, 8}));
}

// If this fails, the backward pass sums a gradient that is whole already, or leaves one that isn't.
TEST(TypedConversion, BackwardCallsFollowFromTheTypes) {
  using Calls = std::vector<BackwardCall>;
  EXPECT_EQ(run_conversion(conversion_of("all_reduce", {partial}, {replicate}), partial).backward,
            (Calls{{"all_reduce", {partial}, {replicate}}}));
  EXPECT_EQ(run_conversion(conversion_of("convert", {invariant}, {replicate}), invariant).backward,
            (Calls{{"all_reduce", {partial}, {invariant}}}));
  EXPECT_EQ(
      run_conversion(conversion_of("reinterpret", {invariant}, {varying}), invariant).backward,
      (Calls{{"reinterpret", {varying}, {partial}}, {"all_reduce", {partial}, {invariant}}}));
  EXPECT_EQ(
      run_conversion(conversion_of("all_reduce", {varying}, {invariant}), varying).backward,
      (Calls{{"convert", {invariant}, {replicate}}, {"reinterpret", {replicate}, {varying}}}));
  TypingContext no_grad = conversion_context;
  no_grad.has_gradients = false;
  EXPECT_TRUE(convert_type(conversion_of("all_reduce", {partial}, {replicate}),
                           tensor_to_convert(partial), no_grad)
                  .backward.empty());
}

// If this fails, redistribute moves data another way than its types say.
TEST(TypedConversion, RedistributeTakesTheCallThatLeadsThere) {
  auto way = [](const TypeOnAxis& src, const TypeOnAxis& dst) {
    ResolvedConversion found = resolved(conversion_of("redistribute", src, dst));
    return found.is_idle ? std::string("nothing") : found.call.op;
  };
  EXPECT_EQ(way({partial}, {replicate}), "all_reduce");
  EXPECT_EQ(way({partial}, on_rows), "reduce_scatter");
  EXPECT_EQ(way(on_rows, {invariant}), "all_gather");
  EXPECT_EQ(way(on_rows, on_columns), "all_to_all");
  EXPECT_EQ(way({replicate}, {partial}), "convert");
  EXPECT_EQ(way({varying}, on_rows), "nothing");
  EXPECT_EQ(resolved(conversion_of("shard", {replicate}, on_rows)).call.op, "convert");
  EXPECT_EQ(resolved(conversion_of("unshard", on_rows, {replicate})).call.op, "all_gather");
  Converted same = run_conversion(conversion_of("convert", {replicate}, {replicate}), replicate);
  EXPECT_TRUE(same.is_same_tensor);
  EXPECT_TRUE(same.backward.empty());
}

// If this fails, a call that can't mean anything gets a type.
TEST(TypedConversion, RefusesArgumentsThatDontFit) {
  TypedTensor x = tensor_to_convert(replicate);
  expect_conversion_refused(RefusalCode::bad_src,
                            conversion_of("all_reduce", {replicate}, {replicate}), x);
  expect_conversion_refused(RefusalCode::bad_dst, conversion_of("all_reduce", {partial}, {varying}),
                            x);
  expect_conversion_refused(RefusalCode::bad_dst, conversion_of("shard", {replicate}, {varying}),
                            x);
  expect_conversion_refused(RefusalCode::bad_src, conversion_of("unshard", {varying}, {replicate}),
                            x);
  expect_conversion_refused(RefusalCode::expert, conversion_of("convert", {replicate}, {invariant}),
                            x);
  expect_conversion_refused(RefusalCode::shard_change,
                            conversion_of("convert", on_rows, on_columns), x);
  expect_conversion_refused(RefusalCode::no_conversion,
                            conversion_of("convert", {partial}, {replicate}), x);
  expect_conversion_refused(RefusalCode::reinterpret_shard,
                            conversion_of("reinterpret", on_rows, {partial}), x);
  expect_conversion_refused(RefusalCode::no_conversion,
                            conversion_of("reinterpret", {partial}, {varying}), x);
  testing::expect_error(
      [&] { run_conversion(conversion_of("send", {varying}, {varying}), varying); },
      ErrorKind::value_error, "got 'send'");
  EXPECT_FALSE(is_conversion("send"));
}

// If this fails, a collective runs on a tensor that isn't what the call says.
TEST(TypedConversion, RefusesTensorsOfAnotherType) {
  Conversion sum = conversion_of("all_reduce", {partial}, {replicate});
  expect_conversion_refused(RefusalCode::wrong_src, sum, tensor_to_convert(replicate));
  EXPECT_EQ(run_conversion(sum, varying).tensor.type_on("tp"), replicate);
  TypedTensor untyped{.shape = {4, 8}};
  expect_conversion_refused(RefusalCode::untyped_axis, sum, untyped);
  TypingContext permissive = conversion_context;
  permissive.is_strict = false;
  EXPECT_TRUE(convert_type(sum, untyped, permissive).tensor.types->empty());
}

// If this fails, the calls of a backward pass aren't known without a tensor.
TEST(TypedConversion, KnowsTheBackwardCallsOfACall) {
  std::vector<BackwardCall> calls =
      backward_calls(conversion_of("all_reduce", {varying}, {replicate}));
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0], (BackwardCall{"all_reduce", {partial}, {replicate}}));
  EXPECT_EQ(calls[1], (BackwardCall{"reinterpret", {replicate}, {varying}}));
  EXPECT_TRUE(backward_calls(conversion_of("convert", on_rows, {varying})).empty());
}

// If this fails, a cut is followed to another dim than the data move to.
TEST(TypedConversion, FollowsCutsUnderGlobalChecking) {
  TypingContext global = conversion_context;
  global.is_global = true;
  TypedTensor x{.shape = {4, 8}};
  x.set_type("tp", on_rows);
  Converted moved = convert_type(conversion_of("all_to_all", on_rows, on_columns), x, global);
  EXPECT_EQ(moved.tensor.spec, (PartitionSpec{{}, {"tp"}}));
  EXPECT_FALSE(cuts_any(
      convert_type(conversion_of("all_gather", on_rows, {replicate}), x, global).tensor.spec));
  expect_conversion_refused(RefusalCode::wrong_shard,
                            conversion_of("all_gather", on_columns, {replicate}), x, global);
  expect_conversion_refused(RefusalCode::no_spec,
                            conversion_of("all_reduce", {partial}, {replicate}),
                            tensor_to_convert(varying), global);
}

}  // namespace
}  // namespace simmesh::typed
