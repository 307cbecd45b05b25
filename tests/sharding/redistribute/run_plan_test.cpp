#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "collectives/process_group.h"
#include "core/engine/world.h"
#include "core/tensor/formula.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/sharding/recorded_cases.h"
#include "tests/sharding/serial_oracle.h"

namespace simmesh {
namespace {

constexpr ReduceOp partial_ops[] = {ReduceOp::sum, ReduceOp::avg,     ReduceOp::min,
                                    ReduceOp::max, ReduceOp::product, ReduceOp::band,
                                    ReduceOp::bor, ReduceOp::bxor};

bool is_bitwise(ReduceOp op) {
  return op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
}

bool is_defined(ReduceOp op, DType dtype) {
  return is_floating_point(dtype) ? !is_bitwise(op) : op != ReduceOp::avg;
}

template <class T>
T combined_bits(ReduceOp op, T a, T b) {
  auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  if (op == ReduceOp::band) return static_cast<T>(x & y);
  if (op == ReduceOp::bor) return static_cast<T>(x | y);
  return static_cast<T>(x ^ y);
}

// One operation as the dtype has it: integers wrap, a bool sum is OR and a product AND.
template <class T>
T combined(ReduceOp op, T a, T b) {
  if (op == ReduceOp::min) return b < a ? b : a;
  if (op == ReduceOp::max) return a < b ? b : a;
  if constexpr (std::is_same_v<T, bool>) {
    if (op == ReduceOp::sum) return a || b;
    return op == ReduceOp::product ? a && b : combined_bits(op, a, b);
  } else if constexpr (std::is_integral_v<T>) {
    auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    if (op == ReduceOp::sum) return static_cast<T>(x + y);
    return op == ReduceOp::product ? static_cast<T>(x * y) : combined_bits(op, a, b);
  } else {
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    auto x = static_cast<Wide>(a), y = static_cast<Wide>(b);
    return static_cast<T>(op == ReduceOp::product ? x * y : x + y);
  }
}

// left_fold returns ((x0 op x1) op x2) ..., divided once by `divisor`.
Tensor left_fold(const std::vector<Tensor>& operands, ReduceOp op, std::int64_t divisor) {
  Tensor result = operands[0].clone();
  visit_dtype(result.dtype(), [&]<class T>(T) {
    auto out = result.mutable_values<T>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (std::size_t k = 1; k < operands.size(); ++k)
        out[i] = combined<T>(op, out[i], operands[k].values<T>()[i]);
      if constexpr (!std::is_integral_v<T>) {
        using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
        if (divisor != 1) out[i] = T(static_cast<Wide>(out[i]) / static_cast<Wide>(divisor));
      }
    }
  });
  return result;
}

Tensor operand_of(std::int64_t rank, DType dtype) {
  Formula data{.rule = is_floating_point(dtype) ? Rule::wide : Rule::index,
               .seed = std::uint64_t(100 + rank),
               .below = dtype == DType::boolean ? 2u : 251u,
               .dtype = dtype};
  return formula({5, 3}, data);
}

std::vector<Tensor> operands_of(std::initializer_list<std::int64_t> ranks, DType dtype) {
  std::vector<Tensor> result;
  for (std::int64_t rank : ranks) result.push_back(operand_of(rank, dtype));
  return result;
}

// A reduction in another order, or one that rounds in another type.
TEST(RunPlan, PartialReductionsAreLeftFolds) {
  for (std::size_t ranks : {1u, 2u, 3u, 5u}) {
    World world({.ranks = ranks});
    Outcome outcome = world.run([&](Rank& rank) {
      DeviceMesh mesh = init_device_mesh({std::int64_t(ranks)});
      for (DType dtype : all_dtypes) {
        std::vector<Tensor> operands;
        for (std::size_t i = 0; i < ranks; ++i) operands.push_back(operand_of(i, dtype));
        for (ReduceOp op : partial_ops) {
          if (!is_defined(op, dtype)) continue;
          Tensor whole = left_fold(operands, op, op == ReduceOp::avg ? std::int64_t(ranks) : 1);
          DTensor x = from_local(operands[rank.id()], mesh, {Partial(op)});
          rank.expect_same_bits(x.redistribute({Replicate()}).to_local(), whole);
          std::int64_t length = (5 + std::int64_t(ranks) - 1) / std::int64_t(ranks);
          std::int64_t start = std::min<std::int64_t>(rank.id() * length, 5);
          Tensor rows = whole.narrow({0, start, std::min(length, 5 - start)}).clone();
          rank.expect_same_bits(x.redistribute({Shard(0)}).to_local(), rows);
        }
      }
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
  }
}

// A merged reduction that adds dim by dim, an unmerged one that adds at once, an average that
// divides twice.
TEST(RunPlan, MergedReductionsFoldOverTheFlattenedMesh) {
  World world({.ranks = 4});
  Outcome outcome = world.run([](Rank& rank) {
    for (DType dtype : all_dtypes) {
      for (ReduceOp op : partial_ops) {
        if (!is_defined(op, dtype)) continue;
        bool is_avg = op == ReduceOp::avg;
        DeviceMesh mesh = init_device_mesh({2, 2}, {"a", "b"});
        Tensor own = operand_of(rank.id(), dtype);
        Placements partial = {Partial(op), Partial(op)}, whole = {Replicate(), Replicate()};
        Tensor by_dims = left_fold({left_fold(operands_of({0, 2}, dtype), op, is_avg ? 2 : 1),
                                    left_fold(operands_of({1, 3}, dtype), op, is_avg ? 2 : 1)},
                                   op, is_avg ? 2 : 1);
        rank.expect_same_bits(from_local(own, mesh, partial).redistribute(whole).to_local(),
                              by_dims);
        mesh.flatten();
        Tensor at_once = left_fold(operands_of({0, 1, 2, 3}, dtype), op, is_avg ? 4 : 1);
        rank.expect_same_bits(from_local(own, mesh, partial).redistribute(whole).to_local(),
                              at_once);
        if (!is_avg) continue;
        at_once = left_fold(operands_of({0, 1, 2, 3}, dtype), op, 2);
        DTensor mixed = from_local(own, mesh, {Partial(ReduceOp::sum), Partial(op)});
        rank.expect_same_bits(mixed.redistribute(whole).to_local(), at_once);
      }
    }
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// A mask that is ignored would count rows twice; a norm that is summed unchanged is no norm.
TEST(RunPlan, MasksAndNormsAreFinished) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2});
    Tensor own = rank.id() == 0 ? tensor_of<float>({3, 2}, {1, 2, 3, 4, 5, 6})
                                : tensor_of<float>({3, 2}, {10, 20, 30, 40, 50, 60});
    Tensor mask = rank.id() == 0 ? tensor_of<bool>({3}, {false, true, true})
                                 : tensor_of<bool>({3}, {true, false, true});
    DTensor masked = from_local(own, mesh, {MaskPartial()}, {.mask = mask});
    rank.expect_same_bits(masked.full_tensor(), tensor_of<float>({3, 2}, {1, 2, 30, 40, 0, 0}));
    Tensor norm = full({1}, DType::float32, rank.id() == 0 ? 3.0 : 4.0);
    DTensor norms = from_local(norm, mesh, {NormPartial(2)});
    rank.expect_same_bits(norms.full_tensor(), full({1}, DType::float32, 5.0));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// Every partial coordinate is a logical tensor of its own. The values are such that no sum,
// product or quotient of them rounds.
struct Logical {
  const PlanRequest& request;
  std::int64_t members = 1;
  std::int64_t divisor = 1;
  ReduceOp op = ReduceOp::sum;

  explicit Logical(const PlanRequest& in) : request(in) {
    for (std::size_t dim = 0; dim < in.from.size(); ++dim) {
      if (!in.from[dim].is_partial()) continue;
      op = in.from[dim].reduce_op();
      members *= in.mesh_shape[dim];
      if (op == ReduceOp::avg) divisor *= in.mesh_shape[dim];
    }
  }

  std::int64_t member_of(DimSpan coordinate) const {
    std::int64_t member = 0;
    for (std::size_t dim = 0; dim < coordinate.size(); ++dim)
      if (request.from[dim].is_partial())
        member = member * request.mesh_shape[dim] + coordinate[dim];
    return member;
  }

  float operand(std::int64_t member, std::int64_t global) const {
    constexpr float factors[] = {1, 2, -1};
    if (op == ReduceOp::product) return factors[(member + global) % 3];
    return static_cast<float>(144 * ((global * 7 + member * 5) % 11 - 3));
  }

  float reduced(std::int64_t global) const {
    float result = operand(0, global);
    for (std::int64_t member = 1; member < members; ++member)
      result = combined(op, result, operand(member, global));
    return result / static_cast<float>(divisor);
  }
};

void run_disputed(const recorded::Json& record, const PlanRequest& request, Rank& rank) {
  const recorded::Json& field = record["mesh"];
  std::vector<std::string> names;
  if (field.contains("names")) names = field["names"].get<std::vector<std::string>>();
  std::vector<std::int64_t> ranks(std::size_t(numel(request.mesh_shape)));
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = std::int64_t(i);
  if (field.contains("ranks")) ranks = field["ranks"].get<std::vector<std::int64_t>>();
  MeshViewer viewer{.rank = rank.id(), .world_size = std::int64_t(rank.world().ranks())};
  DeviceMesh mesh = DeviceMesh::from_ranks(viewer, RankList::of(ranks), request.mesh_shape, names);
  if (!mesh.get_coordinate()) return;
  for (const Dims& dims : request.flattened) {
    std::vector<std::string> some;
    for (std::int64_t dim : dims) some.push_back(names.at(std::size_t(dim)));
    mesh[DimNames(some)].flatten();
  }
  Logical logical(request);
  const Dims coordinate = *mesh.get_coordinate();
  std::int64_t member = logical.member_of(coordinate);
  Tensor own = oracle::local<float>(request.shape, request.mesh_shape, coordinate,
                                    {request.from, request.from_order},
                                    [&](std::int64_t i) { return logical.operand(member, i); });
  Tensor expected = oracle::local<float>(request.shape, request.mesh_shape, coordinate,
                                         {request.to, request.to_order},
                                         [&](std::int64_t i) { return logical.reduced(i); });
  DTensor x =
      from_local(own, mesh, request.from, {.shape = request.shape, .order = request.from_order});
  DTensor y = x.redistribute(request.to, {.planner = request.planner, .order = request.to_order});
  rank.expect_same_bits(y.to_local(), expected);
}

// Cases that PyTorch gets wrong: permuted meshes, merged gathers of uneven pieces, nested strided
// shards that can't be decoded, uneven pieces.
TEST(RunPlan, DisputedCasesComeOutRight) {
  int count = 0;
  for (const recorded::Json& record : recorded::read("disputed.jsonl")) {
    const auto why = record.value("why", "");
    bool is_chosen = false;
    for (const char* part : {"nested strided", "merged gather", "permuted mesh", "uneven pieces"})
      is_chosen |= why.find(part) != why.npos;
    if (record["kind"] != "redistribute" || !is_chosen) continue;
    for (const PlanRequest& request : recorded::requests(record)) {
      std::size_t ranks = std::size_t(numel(request.mesh_shape));
      if (record.contains("world")) ranks = record["world"].get<std::size_t>();
      World world({.ranks = ranks});
      Outcome outcome = world.run([&](Rank& rank) { run_disputed(record, request, rank); });
      EXPECT_TRUE(outcome.ok()) << record["id"] << ": " << report(outcome);
      ++count;
    }
  }
  EXPECT_EQ(count, 64);
}

}  // namespace
}  // namespace simmesh
