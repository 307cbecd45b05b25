#include "sharding/typed/annotation.h"

#include <functional>
#include <gtest/gtest.h>

#include "sharding/typed/type_refusal.h"
#include "tests/expect_error.h"

namespace simmesh::typed {
namespace {

using enum SpmdType;

const TypingContext annotation_context{.axes = {{"tp", 4}}};

TypedTensor annotated_tensor(SpmdType type) {
  return {.types = AxisTypes{{"tp", type}}, .shape = {4, 4}};
}

void expect_call_refused(RefusalCode code, const std::function<void()>& call) {
  try {
    call();
    FAIL() << "the call is accepted";
  } catch (const TypeRefusal& refusal) {
    EXPECT_EQ(refusal.code(), code);
  }
}

// If this fails, a statement overwrites what typing found, or a new one isn't kept.
TEST(TypeAnnotations, AssertSetsWhatIsMissingAndChecksTheRest) {
  TypedTensor x = assert_type({.shape = {4, 4}}, {{"tp", {varying, 0}}});
  EXPECT_EQ(x.full_type_on("tp"), (TypeOnAxis{varying, 0}));
  EXPECT_EQ(assert_type(x, {{"tp", {varying}}}).spec, x.spec);
  EXPECT_EQ(assert_type(annotated_tensor(varying), {{"tp", {partial}}}).type_on("tp"), partial);
  expect_call_refused(RefusalCode::type_mismatch, [] {
    assert_type(annotated_tensor(replicate), {{"tp", {invariant}}});
  });
  expect_call_refused(RefusalCode::spec_conflict, [&] { assert_type(x, {{"tp", {varying, 1}}}); });
}

TEST(TypeAnnotations, MutateReplacesTheStatedType) {
  EXPECT_EQ(mutate_type(annotated_tensor(replicate), "tp", {replicate}, {partial}).type_on("tp"),
            partial);
  expect_call_refused(RefusalCode::mutate_src,
                      [] { mutate_type(annotated_tensor(varying), "tp", {replicate}, {partial}); });
  expect_call_refused(RefusalCode::mutate_axis,
                      [] { mutate_type(annotated_tensor(varying), "dp", {varying}, {partial}); });
}

TEST(TypeAnnotations, ReinterpretWithoutGradientIsForReplicas) {
  EXPECT_EQ(reinterpret_no_grad(annotated_tensor(replicate), "tp", {invariant}).type_on("tp"),
            invariant);
  TypedTensor leaf = annotated_tensor(replicate);
  leaf.requires_grad = true;
  expect_call_refused(RefusalCode::no_grad_only,
                      [&] { reinterpret_no_grad(leaf, "tp", {invariant}); });
  expect_call_refused(RefusalCode::no_grad_dst,
                      [] { reinterpret_no_grad(annotated_tensor(replicate), "tp", {varying}); });
  expect_call_refused(RefusalCode::no_grad_src,
                      [] { reinterpret_no_grad(annotated_tensor(partial), "tp", {replicate}); });
}

// If this fails, a backward pass starts from a loss that would be counted once per rank.
TEST(TypeAnnotations, LossesAreInvariantOrPartial) {
  check_loss(annotated_tensor(invariant), false, annotation_context);
  check_loss(annotated_tensor(partial), false, annotation_context);
  check_loss(annotated_tensor(replicate), true, annotation_context);
  for (SpmdType type : {replicate, varying})
    expect_call_refused(RefusalCode::loss_type,
                        [&] { check_loss(annotated_tensor(type), false, annotation_context); });
  expect_call_refused(RefusalCode::loss_untyped, [] { check_loss({}, false, annotation_context); });
}

// If this fails, a call of torch.distributed reads or gives a tensor as something that it isn't.
TEST(TypeAnnotations, RawCollectivesTakeExactTypes) {
  auto run = [](std::string_view op, std::vector<TypedTensor> tensors) {
    return raw_collective(op, tensors, "tp", annotation_context);
  };
  EXPECT_EQ(run("dist.all_reduce", {annotated_tensor(partial)})[0].type_on("tp"), replicate);
  EXPECT_EQ(run("dist.all_gather", {annotated_tensor(varying), annotated_tensor(invariant)}).size(),
            4u);
  expect_call_refused(RefusalCode::wrong_src,
                      [&] { run("dist.all_reduce", {annotated_tensor(varying)}); });
  expect_call_refused(RefusalCode::wrong_output, [&] {
    run("dist.reduce_scatter_tensor", {annotated_tensor(partial), annotated_tensor(replicate)});
  });
  expect_call_refused(RefusalCode::untyped_axis, [&] { run("dist.all_reduce", {TypedTensor()}); });
  EXPECT_FALSE(is_raw_collective("dist.broadcast"));
  testing::expect_error([&] { run("dist.broadcast", {annotated_tensor(replicate)}); },
                        ErrorKind::value_error, "got 'dist.broadcast' with 1");
}

}  // namespace
}  // namespace simmesh::typed
