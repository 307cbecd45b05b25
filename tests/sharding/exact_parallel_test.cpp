#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/arithmetic/unrounded.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/engine/world.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/chunk.h"
#include "core/tensor/formula.h"
#include "sharding/dtensor/dtensor.h"

// The promise of exact arithmetic on a mesh: a computation that is cut has the bits of one device,
// in forward and backward, whatever the data. Each rank computes both and compares.
namespace simmesh {
namespace {

void on_every_schedule(const Shape& mesh_shape,
                       const std::function<void(const DeviceMesh&)>& body) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"})
    for (std::size_t threads : {1, 2}) {
      World world({.ranks = std::size_t(numel(mesh_shape)),
                   .schedule = Schedule::parse(schedule),
                   .threads = threads,
                   .arithmetic = Arithmetic::exact()});
      Outcome outcome = world.run([&](Rank&) {
        body(mesh_shape.size() == 1 ? init_device_mesh(mesh_shape, {"a"})
                                    : init_device_mesh(mesh_shape, {"a", "b"}));
      });
      ASSERT_TRUE(outcome.ok()) << schedule << ": " << outcome.failure->message
                                << outcome.failure->details;
    }
}

Tensor leaf(const Tensor& values) {
  Tensor result = values.detach().clone();
  set_requires_grad(result);
  return result;
}

Tensor own_chunk(const Tensor& whole, std::int64_t dim, const ProcessGroup& group) {
  Chunk chunk = chunk_of({.size = whole.size(dim), .parts = group.size(), .index = group.rank()});
  return whole.narrow({dim, chunk.start, chunk.length});
}

struct Parallel {
  Tensor output, input_gradient, first_gradient, second_gradient;
};

struct Layers {
  Tensor x, first, second, upstream;

  explicit Layers(Rule rule, DType dtype)
      : x(data({6, 5}, rule, 1, dtype)),
        first(data({5, 9}, rule, 2, dtype)),
        second(data({9, 4}, rule, 3, dtype)),
        upstream(data({6, 4}, rule, 4, dtype)) {}

  static Tensor data(const Shape& shape, Rule rule, std::uint64_t seed, DType dtype) {
    return formula(shape, {.rule = rule, .seed = seed, .dtype = dtype});
  }

  Parallel on_one_device() const {
    Tensor input = leaf(x), up = leaf(first), down = leaf(second);
    Tensor output = mm(gelu(mm(input, up)), down);
    backward(output, {.gradients = {upstream}});
    return {output.detach(), grad_of(input), grad_of(up), grad_of(down)};
  }

  // The first weight is cut by columns, the second by rows: what enters has partial gradients, what
  // leaves is partial.
  Parallel cut_over(const DeviceMesh& mesh) const {
    ProcessGroup group = process_group(mesh);
    Placements whole(1, Replicate()), partial(1, Partial(ReduceOp::sum));
    Tensor input = leaf(x);
    Tensor up = leaf(own_chunk(first, 1, group)), down = leaf(own_chunk(second, 0, group));
    Tensor entered = from_local(input, mesh, whole).to_local({.grad_placements = partial});
    Tensor hidden = gelu(mm(entered, up)), part;
    {
      KeepUnrounded scope;
      part = mm(hidden, down);
    }
    Tensor output = from_local(part, mesh, partial).redistribute(whole).to_local();
    backward(output, {.gradients = {upstream}});
    return {output.detach(), grad_of(input), grad_of(up), grad_of(down)};
  }
};

TEST(ExactParallel, ColumnsThenRowsAreOneDevice) {
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float64})
    for (Rule rule : {Rule::unit, Rule::wide})
      for (std::int64_t ranks : {1, 2, 3, 4})
        on_every_schedule({ranks}, [&](const DeviceMesh& mesh) {
          Layers layers(rule, dtype);
          Parallel one = layers.on_one_device(), cut = layers.cut_over(mesh);
          Rank& rank = this_rank();
          ProcessGroup group = process_group(mesh);
          rank.expect_same_bits(cut.output, one.output);
          rank.expect_same_bits(cut.input_gradient, one.input_gradient);
          rank.expect_same_bits(cut.first_gradient,
                                own_chunk(one.first_gradient, 1, group).contiguous());
          rank.expect_same_bits(cut.second_gradient,
                                own_chunk(one.second_gradient, 0, group).contiguous());
        });
}

// This rank's share of a contraction that is cut over two mesh dims.
DTensor partial_product(const Tensor& a, const Tensor& b, const DeviceMesh& mesh) {
  std::int64_t ranks = mesh.size(), rank = std::int64_t(this_rank().id());
  Chunk chunk = chunk_of({.size = a.size(1), .parts = ranks, .index = rank});
  KeepUnrounded scope;
  Tensor part =
      mm(a.narrow({1, chunk.start, chunk.length}), b.narrow({0, chunk.start, chunk.length}));
  return from_local(part, mesh, {Partial(ReduceOp::sum), Partial(ReduceOp::sum)});
}

// Any way out of two partial dims: one by one, by reduce-scatter, with a redistribution of the
// sharded dim in between, or partial again.
TEST(ExactParallel, AnyWayOutOfTwoPartialDimsIsOneDevice) {
  Placement r = Replicate(), p = Partial(ReduceOp::sum), rows = Shard(0), columns = Shard(1);
  const std::vector<std::vector<Placements>> ways = {
      {{r, r}},
      {{r, p}, {r, r}},
      {{p, r}, {r, r}},
      {{rows, p}, {rows, r}, {r, r}},
      {{p, columns}, {rows, columns}},
      {{rows, p}, {columns, p}, {r, p}, {r, rows}},
      {{p, columns}, {p, rows}, {p, r}, {r, r}},
      {{r, p}, {p, p}, {columns, p}, {columns, rows}}};
  for (Rule rule : {Rule::unit, Rule::wide})
    for (const Shape& shape : {Shape{2, 2}, Shape{2, 3}})
      on_every_schedule(shape, [&](const DeviceMesh& mesh) {
        Tensor a = formula({7, 13}, {.rule = rule, .seed = 5});
        Tensor b = formula({13, 5}, {.rule = rule, .seed = 6});
        Tensor expected = mm(a, b);
        for (const std::vector<Placements>& way : ways) {
          DTensor value = partial_product(a, b, mesh);
          for (const Placements& next : way) value = value.redistribute_local(next);
          this_rank().expect_same_bits(value.full_tensor(), expected);
        }
      });
}

// A replicated tensor that becomes partial is divided by the ranks, and comes back as it was.
TEST(ExactParallel, SharesOfAReplicatedTensorComeBack) {
  on_every_schedule({3}, [](const DeviceMesh& mesh) {
    Tensor x = formula({7, 5}, {.rule = Rule::wide, .seed = 7});
    DTensor whole = distribute_tensor(x, mesh, {Replicate()});
    DTensor shares = whole.redistribute_local({Partial(ReduceOp::sum)});
    this_rank().expect_same_bits(shares.full_tensor(), x);
    DTensor rows = shares.redistribute_local({Shard(0)});
    this_rank().expect_same_bits(rows.full_tensor(), x);
  });
}

// Collectives of plain tensors with magnitudes that float32 can't hold together.
TEST(ExactParallel, CollectivesLoseNothing) {
  on_every_schedule({2, 2}, [](const DeviceMesh&) {
    ProcessGroup group = ProcessGroup::world();
    Tensor own = zeros({4}, DType::float32);
    if (group.rank() == 0) copy_(own, tensor_of<float>({4}, {1e20f, 1e-3f, 1.23456778e-09f, 1.5f}));
    Tensor expected = tensor_of<float>({4}, {1e20f, 1e-3f, 1.23456778e-09f, 1.5f});
    this_rank().expect_same_bits(all_reduce(own, ReduceOp::sum, group), expected);
    this_rank().expect_same_bits(reduce_scatter(own, ReduceOp::sum, {}, group),
                                 expected.narrow({0, group.rank(), 1}).clone());
    // Once 1e20 is taken away, the values that it hid reappear: also through gathers and exchanges.
    Tensor hidden = full({4, 4}, DType::float32, 1.0 + double(group.rank()));
    Tensor large = full({4, 4}, DType::float32, group.rank() == 1 ? 1e20 : 0);
    KeepUnrounded scope;
    Tensor sums = reduce_scatter(add(large, hidden), ReduceOp::sum, {}, group);
    Tensor moved = all_to_all(sums, {.scatter_dim = 1, .gather_dim = 0}, group);
    Tensor whole = all_gather(moved, {.dim = 1}, group);
    Tensor rest = add(broadcast(whole, 0, group), full({4, 4}, DType::float32, -1e20));
    this_rank().expect_same_bits(rest, full({4, 4}, DType::float32, 10));
  });
}

}  // namespace
}  // namespace simmesh
