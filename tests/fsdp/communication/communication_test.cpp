#include "fsdp/communication/communication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/reductions/reductions.h"
#include "fsdp/state/state.h"
#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

Tensor comm_input() { return formula({2, 5}, {.rule = Rule::unit, .seed = 3}); }

std::vector<Tensor> gradients_after(const DeviceMesh& mesh,
                                    const std::function<void(FSDPModule)>& set) {
  nn::ModulePtr model = build_model(small_model(2, 5));
  shard_layers(*model, {.mesh = mesh});
  for (auto& [name, module] : model->named_modules())
    if (FSDPState::of(*module)) set(FSDPModule(*module));
  backward(sum((*model)(comm_input())));
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : model->parameters())
    gradients.push_back(grad_of(parameter).local_part());
  return gradients;
}

void expect_all_same_bits(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  expect(actual.size() == expected.size(), "as many gradients");
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_SAME_BITS(actual[i], expected[i]);
}

// Gathers and reductions run in the memory that the user gives: the input of a gather is in the
// output, and a reduction uses the buffer that was given for it.
SIMMESH_TEST(Communication, UsesTheMemoryThatIsGiven, {.mesh = {3}}) {
  std::vector<StorageId> given;
  CommAllocate allocate = [&given](const Shape& shape, DType dtype) {
    Tensor buffer = full(DimSpan(shape), dtype, 77);  // whatever was there before
    given.push_back(buffer.storage()->id());
    return buffer;
  };
  auto is_given = [&](const Tensor& tensor) {
    return std::find(given.begin(), given.end(), tensor.storage()->id()) != given.end();
  };
  std::vector<Tensor> expected = gradients_after(mesh, [](FSDPModule) {});
  std::int64_t in_given_memory = 0;
  ObserverScope observer([&](const Event& event) {
    if (event.kind == EventKind::all_gather) in_given_memory += is_given(event.input);
    if (event.kind == EventKind::reduce_scatter)
      in_given_memory += is_given(event.input) && is_given(event.output);
  });
  std::vector<Tensor> actual = gradients_after(mesh, [&](FSDPModule module) {
    module.set_custom_all_gather({.allocate = allocate});
    module.set_custom_reduce_scatter({.allocate = allocate});
  });
  expect_all_same_bits(actual, expected);
  // Three gathers in forward, two in backward, three reductions.
  expect(in_given_memory == 8, "eight collectives in memory that was given");
}

// A custom collective gets the memory that the custom allocation gave, and may write to it.
SIMMESH_TEST(Communication, GivesCustomCollectivesTheirMemory, {.mesh = {2}}) {
  CommAllocate allocate = [](const Shape& shape, DType dtype) {
    return zeros(DimSpan(shape), dtype);
  };
  AllGather gather{.call =
                       [](const AllGatherCall& call) {
                         expect(call.output.storage() == call.input.storage(), "input in output");
                         return all_gather_async(call.input, {.dim = 0}, call.group);
                       },
                   .allocate = allocate};
  ReduceScatter scatter{.call =
                            [](const ReduceScatterCall& call) {
                              Tensor output = call.output;
                              reduce_scatter_(output, call.input, call.reduce, {}, call.group);
                              return output;
                            },
                        .allocate = allocate};
  std::vector<Tensor> expected = gradients_after(mesh, [](FSDPModule) {});
  expect_all_same_bits(gradients_after(mesh,
                                       [&](FSDPModule module) {
                                         module.set_custom_all_gather(gather);
                                         module.set_custom_reduce_scatter(scatter);
                                       }),
                       expected);
}

// Memory of another size or dtype would be read and written past its end.
TEST(Communication, RefusesOtherMemoryThanItAskedFor) {
  auto body = [](const CommAllocate& allocate) {
    return [allocate](Rank&) {
      gradients_after(init_device_mesh({2}), [&](FSDPModule module) {
        module.set_custom_all_gather({.allocate = allocate});
      });
    };
  };
  EXPECT_THAT(failure_of(2, body([](const Shape& shape, DType) {
                           return zeros(DimSpan(shape), DType::float64);
                         })),
              ::testing::HasSubstr("gives a contiguous float32[60], got float64[60]"));
  EXPECT_THAT(failure_of(2, body([](const Shape&, DType) { return Tensor(); })),
              ::testing::HasSubstr("got an undefined tensor"));
}

// A hook changes the gradients that the shards get, after the reduction and before the division.
SIMMESH_TEST(Communication, RunsHooksOnWhatWasReduced, {.mesh = {2}}) {
  std::vector<Tensor> expected = gradients_after(mesh, [](FSDPModule) {});
  for (Tensor& gradient : expected) mul_(gradient, 4);
  for (bool own_stream : {false, true}) {
    std::vector<Tensor> actual = gradients_after(mesh, [&](FSDPModule module) {
      auto stream = own_stream ? std::optional(Stream::make("hook")) : std::nullopt;
      module.set_all_reduce_hook([](Tensor& reduced) { mul_(reduced, 4); }, stream);
    });
    expect_all_same_bits(actual, expected);
  }
}

}  // namespace
}  // namespace simmesh::fsdp
