#include "core/ops/shapes/views.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "sharding/dtensor/dispatched_op.h"
#include "tests/expect_error.h"
#include "tests/sharding/strategies/oracle_inputs.h"

namespace simmesh {
namespace {

using testing::error_text;

using namespace whole_tensor_oracle;

const std::initializer_list<Placement> partial_kinds = {Partial(ReduceOp::sum),
                                                        Partial(ReduceOp::max)};

// A view that may be refused: then of the replicated tensor.
Tensor view_or_gather(const Tensor& x, const std::function<Tensor(const Tensor&)>& view) {
  if (!x.distribution()) return view(x);
  try {
    return view(x);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::runtime_error) << error.what();
    DTensor tensor = DTensor::of(x);
    return view(
        tensor.redistribute(Placements(tensor.placements().size(), Replicate())).as_tensor());
  }
}

void expect_view(const char* name, const Shape& shape,
                 const std::function<Tensor(const Tensor&)>& function,
                 std::initializer_list<Placement> others = partial_kinds) {
  expect_whole_bits(
      {.name = name, .inputs = {values(shape, others)}, .function = [&](Given x) -> Tensors {
         return {view_or_gather(x[0], function)};
       }});
}

TEST(ViewStrategies, ViewsOfEverySplit) {
  std::initializer_list<Placement> kinds = {Partial(ReduceOp::sum), StridedShard(0, 2),
                                            StridedShard(1, 3), RaggedShard({1, 0}),
                                            RaggedShard({1, 0, 3})};
  struct {
    Shape from, to;
  } const cases[] = {
      {{4, 6}, {24}},       {{24}, {4, 6}},      {{4, 6}, {2, 2, 6}}, {{4, 6}, {6, 4}},
      {{12, 2}, {2, 6, 2}}, {{4, 5}, {20}},      {{5, 4}, {20}},      {{4, 1, 3}, {4, 3}},
      {{2, 12}, {2, 3, 4}}, {{8, 6}, {2, 4, 6}}, {{3, 4, 2}, {3, 8}}, {{2, 3, 4}, {24}},
      {{0, 4}, {2, 0}},     {{2, 6}, {4, 3}},    {{16}, {2, 2, 4}},   {{4, 3}, {2, 1, 2, 3}},
  };
  for (const auto& one : cases) {
    Placements alphabet = shards_and(std::int64_t(one.from.size()));
    for (const Placement& kind : kinds)
      if (kind.is_partial() || kind.dim() < std::int64_t(one.from.size())) alphabet.push_back(kind);
    for (const Shape& mesh : {Shape{2}, Shape{3}, Shape{2, 2}}) {
      Placements own;
      for (const Placement& kind : alphabet)
        if (!kind.is_ragged_shard() ||
            (mesh.size() == 1 && std::int64_t(kind.units().size()) == mesh[0] &&
             one.from[0] % std::int64_t(mesh[0] == 2 ? 1 : 4) == 0))
          own.push_back(kind);
      expect_whole_bits({.name = "view",
                         .inputs = {{.shape = one.from, .alphabet = own}},
                         .function = [&](Given x) -> Tensors {
                           return {view_or_gather(x[0], [&](const Tensor& tensor) {
                             return reshape(tensor, one.to);
                           })};
                         },
                         .has_gradient = false},
                        {.meshes = {mesh}});
    }
  }
}

TEST(ViewStrategies, GradientsOfViews) {
  expect_view("flatten", {4, 6}, [](const Tensor& x) { return flatten(x); });
  expect_view("unflatten", {12, 2}, [](const Tensor& x) { return unflatten(x, 0, {4, 3}); });
  expect_view("cut anew", {4, 6}, [](const Tensor& x) { return reshape(x, {6, 4}); });
}

TEST(ViewStrategies, DimsThatMoveComeAndGo) {
  expect_view("transpose", {3, 4, 2}, [](const Tensor& x) { return transpose(x, 0, -1); });
  expect_view("t", {3, 4}, [](const Tensor& x) { return t(x); });
  expect_view("permute", {3, 4, 2}, [](const Tensor& x) { return permute(x, {2, 0, 1}); });
  expect_view("movedim", {3, 4, 2}, [](const Tensor& x) { return movedim(x, -1, 0); });
  expect_view("unsqueeze", {3, 4}, [](const Tensor& x) { return unsqueeze(x, -2); });
  expect_view("squeeze", {3, 1, 4}, [](const Tensor& x) { return squeeze(x); });
  expect_view("squeeze of a dim", {1, 4}, [](const Tensor& x) { return squeeze(x, 0); });
  expect_view("expand", {1, 4}, [](const Tensor& x) { return expand(x, {2, 3, 4}); });
  expect_view("clone", {5}, [](const Tensor& x) { return clone(x); });
}

TEST(ViewStrategies, PartsOfDims) {
  expect_view("select", {3, 4, 2}, [](const Tensor& x) { return select(x, -2, -1); });
  expect_view("slice", {5, 4},
              [](const Tensor& x) { return slice(x, {.dim = -1, .start = 1, .step = 2}); });
  expect_view("a whole slice", {5, 4}, [](const Tensor& x) { return slice(x, {.dim = 0}); });
  expect_view("diagonal", {3, 4, 2},
              [](const Tensor& x) { return diagonal(x, {.offset = 1, .dim0 = 0, .dim1 = 1}); });
  expect_view("unbind", {3, 4}, [](const Tensor& x) { return unbind(x, -1)[2]; });
  expect_whole_bits({.name = "split", .inputs = {values({5, 4})}, .function = [](Given x) {
                       return split(x[0], 2, 0);
                     }});
  expect_whole_bits({.name = "chunk", .inputs = {values({3, 5})}, .function = [](Given x) {
                       return chunk(x[0], 2, -1);
                     }});
}

// Returns the error that a call raises on every rank.
std::string raised_on_mesh(const Shape& shape, const Placements& placements,
                           const Shape& mesh_shape,
                           const std::function<void(const Tensor&)>& function) {
  std::string text;
  World world({.ranks = std::size_t(numel(mesh_shape))});
  Outcome outcome = world.run([&](Rank& rank) {
    DeviceMesh mesh = init_device_mesh(mesh_shape);
    Tensor whole = formula(shape, {.rule = Rule::small});
    std::string refusal =
        error_text([&] { function(distribute_tensor(whole, mesh, placements).as_tensor()); });
    if (rank.id() == 0) text = refusal;
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return text;
}

TEST(ViewStrategies, RefuseWhatWouldMove) {
  auto flat = [](const Tensor& x) { flatten(x); };
  EXPECT_NE(raised_on_mesh({2, 4, 2}, {Shard(0)}, {3}, flat).find("Cannot flatten"),
            std::string::npos);
  EXPECT_NE(raised_on_mesh({6, 4, 4}, {Shard(1)}, {3}, flat).find("Cannot flatten"),
            std::string::npos);
  auto cut = [](const Tensor& x) { reshape(x, {2, 4}); };
  EXPECT_NE(raised_on_mesh({8}, {Shard(0)}, {4}, cut).find("Cannot unflatten"), std::string::npos);
  auto thirds = [](const Tensor& x) { reshape(x, {2, 3}); };
  EXPECT_NE(raised_on_mesh({6}, {Shard(0), Shard(0)}, {2, 3}, thirds).find("redistribution"),
            std::string::npos);
  auto squeezed = [](const Tensor& x) { squeeze(x, 1); };
  EXPECT_NE(raised_on_mesh({4, 1}, {Shard(1)}, {2}, squeezed).find("requires redistribution"),
            std::string::npos);
  auto unbound = [](const Tensor& x) { unbind(x, -1); };
  EXPECT_NE(
      raised_on_mesh({2, 3}, {Shard(1)}, {2}, unbound).find("unbind along the sharded dimension 1"),
      std::string::npos);
  EXPECT_EQ(raised_on_mesh({4, 6}, {Shard(1)}, {2}, flat), "");
}

// Describes the placements of a view.
std::string viewed_on_mesh(const Shape& shape, const char* placements, const Shape& mesh_shape,
                           const Shape& to) {
  std::string text;
  World world({.ranks = std::size_t(numel(mesh_shape))});
  Outcome outcome = world.run([&](Rank& rank) {
    DeviceMesh mesh = init_device_mesh(mesh_shape);
    Tensor whole = formula(shape, {.rule = Rule::small});
    Placements given = parse_placements(placements);
    std::string used;
    DispatchScope scope([&](const DispatchedOp& op) {
      used =
          to_string(PlacementSpan(*op.used[0])) + " -> " + to_string(PlacementSpan(op.outputs[0]));
    });
    view(distributed(whole, mesh, given).as_tensor(), to);
    if (rank.id() == 0) text = used;
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return text;
}

TEST(ViewStrategies, FollowShardsWithoutCommunication) {
  EXPECT_EQ(viewed_on_mesh({4, 6}, "S(1)", {2}, {24}), "S(1) -> _S(0,4)");
  EXPECT_EQ(viewed_on_mesh({2, 3, 4}, "S(0),S(2)", {2, 3}, {24}), "S(0),S(2) -> S(0),_S(0,3)");
  EXPECT_EQ(viewed_on_mesh({24}, "_S(0,4)", {2}, {4, 6}), "_S(0,4) -> S(1)");
  EXPECT_EQ(viewed_on_mesh({24}, "S(0),_S(0,3)", {2, 2}, {2, 3, 4}), "S(0),_S(0,3) -> S(0),S(2)");
  EXPECT_EQ(viewed_on_mesh({8, 2}, "S(1),P(max)", {2, 2}, {2, 4, 2}), "S(1),P(max) -> S(2),P(max)");
  EXPECT_EQ(viewed_on_mesh({4, 6}, "S(1)", {2}, {6, 4}), "R -> R");
  EXPECT_EQ(viewed_on_mesh({4, 6}, "S(0)", {2}, {6, 4}), "S(0) -> S(0)");
}

// A shard that is applied before that of an outer mesh dim.
TEST(ViewStrategies, KeepTheOrderOfShards) {
  World world({.ranks = 4});
  Outcome outcome = world.run([](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 2}, {"a", "b"});
    Tensor whole = formula({8, 3}, {.rule = Rule::small, .seed = 3});
    Placements both = {Shard(0), Shard(0)};
    DTensor x = distribute_tensor(
        whole, mesh, both,
        {.order = ShardOrder::of({{.tensor_dim = 0, .mesh_dims = {1, 0}}}, both)});
    for (const Shape& shape : {Shape{24}, Shape{2, 4, 3}, Shape{8, 1, 3}}) {
      Tensor result = view(x.as_tensor(), shape);
      rank.expect_same_bits(DTensor::of(result).full_tensor(), reshape(whole, shape));
    }
    Tensor turned = transpose(x.as_tensor(), 0, 1);
    rank.expect_same_bits(DTensor::of(turned).full_tensor(), whole.transpose(0, 1).contiguous());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
