#include "fsdp/param/gather_extension.h"

#include <gmock/gmock.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/convert.h"
#include "fsdp/named_params.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

Tensor extension_input() { return formula({2, 5}, {.rule = Rule::unit, .seed = 3}); }

// Returns the rows of a parameter; the gathered tensor has more, for padding.
Tensor without_padding(const Tensor& gathered, const Shape& shape) {
  return gathered.narrow({0, 0, shape[0]});
}

// Shards travel as bfloat16 and are used as float32: half the bytes, rounded once.
GatherExtensionFn as_bfloat16() {
  return [](const Tensor& parameter) {
    return GatherExtension{
        .pre_all_gather = [](const Tensor& shard) -> std::vector<Tensor> {
          return {converted(shard, DType::bfloat16)};
        },
        .post_all_gather =
            [shape = parameter.shape()](const std::vector<Tensor>& gathered, DType dtype) {
              return converted(without_padding(gathered[0], shape), dtype);
            }};
  };
}

void round_to_bfloat16(nn::Module& model) {
  for (const Tensor& parameter : model.parameters()) {
    Tensor values = parameter.detach();
    copy_(values, converted(converted(values, DType::bfloat16), DType::float32));
  }
}

// A model whose weights are sent as bfloat16 computes as one whose weights are rounded so; the
// shards, which it trains, aren't rounded.
SIMMESH_TEST(GatherExtension, ChangesWhatTravels, {.mesh = {2}}) {
  nn::ModulePtr model = build_model(small_model(2, 5)), rounded = build_model(small_model(2, 5));
  round_to_bfloat16(*rounded);
  shard_layers(*model, {.reshard_after_forward = true, .gather_extension_fn = as_bfloat16()});
  Tensor shard = model->parameters()[0].local_part().clone();
  std::size_t bytes = 0, padded_numel = 0;
  ObserverScope observer([&](const Event& event) {
    if (event.kind == EventKind::all_gather) bytes += event.input.bytes();
  });
  Tensor y = (*model)(extension_input()), expected = (*rounded)(extension_input());
  for (const NamedParam& named : named_params(*model))
    padded_numel += std::size_t(named.param->padded_numel());
  expect(bytes == 2 * padded_numel, "two bytes per element");
  EXPECT_SAME_BITS(y.detach(), expected.detach());
  backward(sum(y));
  backward(sum(expected));
  for (std::size_t i = 0; i < model->parameters().size(); ++i)
    EXPECT_SAME_BITS(DTensor::of(grad_of(model->parameters()[i])).full_tensor(),
                     grad_of(rounded->parameters()[i]));
  EXPECT_SAME_BITS(model->parameters()[0].local_part(), shard);
}

// A parameter may send several tensors, of several dtypes, beside others that send their shards.
SIMMESH_TEST(GatherExtension, SendsSeveralTensors, {.mesh = {2}}) {
  nn::ModulePtr model = build_model(small_model(1, 5)), whole = build_model(small_model(1, 5));
  FullyShardOptions options;
  options.gather_extension_fn = [](const Tensor& parameter) -> std::optional<GatherExtension> {
    if (parameter.dim() == 1) return std::nullopt;
    return GatherExtension{
        .pre_all_gather = [](const Tensor& shard) -> std::vector<Tensor> {
          return {converted(mul(shard, 4), DType::float64), full({1}, DType::uint8, 4)};
        },
        .post_all_gather =
            [shape = parameter.shape()](const std::vector<Tensor>& gathered, DType dtype) {
              expect(same_bits(gathered[1], full({2}, DType::uint8, 4)), "a scale of each rank");
              Tensor scaled = without_padding(gathered[0], shape);
              return converted(div(scaled, 4), dtype);
            }};
  };
  shard_layers(*model, options);
  EXPECT_SAME_BITS((*model)(extension_input()).detach(), (*whole)(extension_input()).detach());
}

std::string failure_with(const FullyShardOptions& options) {
  return failure_of(2, [options](Rank&) {
    nn::ModulePtr model = build_model(small_model(1, 5));
    fully_shard(*model, options);
    (*model)(extension_input());
  });
}

// The error names what doesn't fit; a smaller mesh would need shards of the gathered tensor.
TEST(GatherExtension, RefusesWhatDoesNotFit) {
  using ::testing::HasSubstr;
  EXPECT_EQ(failure_with({.gather_extension_fn = as_bfloat16()}), "");
  EXPECT_THAT(failure_with({.reshard_after_forward = 1, .gather_extension_fn = as_bfloat16()}), "");
  auto changed = [](const std::function<void(GatherExtension&)>& change) {
    return [change](const Tensor& parameter) {
      std::optional<GatherExtension> extension = as_bfloat16()(parameter);
      change(*extension);
      return extension;
    };
  };
  EXPECT_THAT(failure_with({.gather_extension_fn = changed([](GatherExtension& extension) {
                              extension.post_all_gather = [](const std::vector<Tensor>& gathered,
                                                             DType) { return gathered[0]; };
                            })}),
              HasSubstr("expected float32[5, 5] from post_all_gather, got bfloat16[6, 5]"));
  EXPECT_THAT(
      failure_with({.gather_extension_fn = changed([](GatherExtension& extension) {
                      extension.pre_all_gather = [](const Tensor& shard) -> std::vector<Tensor> {
                        return {sum(shard)};
                      };
                    })}),
      HasSubstr("tensors with at least one dim from pre_all_gather, got float32[]"));
  EXPECT_THAT(failure_of(4,
                         [](Rank&) {
                           nn::ModulePtr model = build_model(small_model(1, 5));
                           fully_shard(*model, {.reshard_after_forward = 2,
                                                .gather_extension_fn = as_bfloat16()});
                         }),
              HasSubstr("reshard_after_forward as int is not supported with a gather extension"));
}

}  // namespace
}  // namespace simmesh::fsdp
