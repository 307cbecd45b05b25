#include "core/ops/functions/reordering.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"
#include "tests/expect_error.h"
#include "tests/sharding/known_faults.h"

// Known faults of views.
//
// Tested elsewhere:
//   2.13 gradients of pieces that nobody uses: JoiningStrategies.GradientsOfUnusedPieces
namespace simmesh::known_faults {

// 174136, PR 175798: squeeze_ changed the spec but not the local tensor, or kept the global shape.
SIMMESH_TEST(KnownViewFaults, SqueezeInPlaceKnowsItsShape174136, {.mesh = {2}, .schedules = 4}) {
  Tensor values = numbers({1, 4, 1, 3});
  for (const Placement& placement :
       {whole, Placement(Shard(1)), Placement(Shard(3)), total, largest}) {
    Tensor x = laid(values, mesh, {placement});
    squeeze_(x, 0);
    EXPECT_EQ(to_string(x.shape()), "[4, 1, 3]");
    EXPECT_EQ(x.shape(), DTensor::of(x).shape());
    EXPECT_SAME_BITS(joined(x), values.view(Dims{4, 1, 3}));
    squeeze_(x);
    EXPECT_SAME_BITS(joined(x), values.view(Dims{4, 3}));
    EXPECT_SAME_BITS(joined(add(x, x)), add(joined(x), joined(x)));
  }
  Tensor x = laid(values, mesh, {Shard(0)});
  testing::expect_error([&] { squeeze_(x, 0); }, ErrorKind::runtime_error, "redistribut");
  EXPECT_SAME_BITS(joined(x), values);
}

// 2.13: a product with a vector inherited that shape.
SIMMESH_TEST(KnownViewFaults, ProductsWithVectorsKnowTheirShape213, {.mesh = {2}, .schedules = 4}) {
  for (const Placement& placement : {whole, Placement(Shard(0)), Placement(Shard(1))})
    expect_like_one_device(
        mesh, "matmul with a vector", {{{4, 2}, {placement}}, {{2}, {Shard(0)}}}, [](Given x) {
          Tensor product = matmul(x[0], x[1]);
          EXPECT_EQ(to_string(product.shape()), "[4]");
          return Outputs{add(product, product), matmul(x[1], transpose(x[0], 0, 1))};
        });
}

// The in-place forms of other views, whatever the placements.
SIMMESH_TEST(KnownViewFaults, ViewsInPlaceFollowEveryPlacement174136,
             {.mesh = {2, 2}, .schedules = 4}) {
  Tensor values = numbers({4, 3});
  for (const Placements& placements :
       small_worlds::lists(2, {whole, Shard(0), Shard(1), total, largest})) {
    if (placements[0].is_partial() && placements[1].is_partial() && placements[0] != placements[1])
      continue;
    Tensor x = laid(values, mesh, placements);
    EXPECT_SAME_BITS(joined(transpose_(x, 0, 1)), transpose(values, 0, 1).contiguous());
    EXPECT_SAME_BITS(joined(t_(x)), values);
    EXPECT_SAME_BITS(joined(unsqueeze_(x, 1)), values.view(Dims{4, 1, 3}));
    EXPECT_SAME_BITS(joined(squeeze_(x)), values);
    EXPECT_EQ(x.shape(), DTensor::of(x).shape());
  }
}

// Another tensor over the same elements keeps its shape when one becomes a view: with PyTorch's
// squeeze_ its spec and its piece would disagree.
SIMMESH_TEST(KnownViewFaults, CopiesKeepTheirShapeInPlace174136, {.mesh = {2}, .schedules = 4}) {
  Tensor values = numbers({4, 1, 3});
  for (const Placement& placement : {whole, Placement(Shard(0)), Placement(Shard(2)), total}) {
    Tensor x = laid(values, mesh, {placement}), copy = x, apart = x.detach();
    squeeze_(x);
    transpose_(x, 0, 1);
    for (const Tensor& other : {copy, apart}) {
      EXPECT_EQ(to_string(other.shape()), "[4, 1, 3]");
      EXPECT_EQ(other.shape(), DTensor::of(other).shape());
      EXPECT_SAME_BITS(joined(other), values);
    }
    EXPECT_SAME_BITS(joined(x), transpose(values.view(Dims{4, 3}), 0, 1).contiguous());
    mul_(x, 2);
    for (const Tensor& other : {copy, apart}) EXPECT_SAME_BITS(joined(other), mul(values, 2));
  }
}

// 179502: a view that mixes rows claimed to need no communication.
SIMMESH_TEST(KnownViewFaults, AViewAcrossRowsOfColumns179502, {.mesh = {2}, .schedules = 4}) {
  Tensor values = numbers({12, 8});
  for (const Placement& placement : {Placement(Shard(0)), Placement(Shard(1)), total})
    EXPECT_SAME_BITS(joined(view(laid(values, mesh, {placement}), {16, 6})),
                     values.view(Dims{16, 6}));
}

enum class Came { refused, whole };

// Tells whether a view was refused, by all ranks alike; if not, it has the elements of the whole
// one.
Came viewed(const Tensor& values, const DeviceMesh& mesh, const Placements& placements,
            const Shape& shape) {
  Tensor x = laid(values, mesh, placements), result;
  try {
    result = reshape(x, shape);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::runtime_error);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("redistribut"));
  }
  Tensor refused = full({1}, DType::float32, result.is_defined() ? 0 : 1);
  Tensor count = from_local(refused, mesh, Placements(placements.size(), total)).full_tensor();
  EXPECT_SAME_BITS(count, mul(refused, double(mesh.size())));
  if (!result.is_defined()) return Came::refused;
  EXPECT_SAME_BITS(joined(result), values.view(shape));
  return Came::whole;
}

// 143372: flattening a dim that is cut unevenly failed on some ranks only, by a shape.
SIMMESH_TEST(KnownViewFaults, FlatteningAnUnevenDim143372, {.mesh = {2}, .schedules = 4}) {
  for (std::int64_t rows : {1, 3, 4, 5}) {
    Tensor values = formula({rows, 3, 2}, {.rule = Rule::small, .seed = 6});
    EXPECT_EQ(viewed(values, mesh, {Shard(0)}, {rows * 3, 2}),
              rows % 2 == 0 ? Came::whole : Came::refused);
    EXPECT_EQ(viewed(values, mesh, {Shard(2)}, {rows * 3, 2}), Came::whole);
    EXPECT_EQ(viewed(values, mesh, {total}, {rows * 6}), Came::whole);
  }
}

// 2.13: views failed where two mesh dims cut one dim, since the second cut was ignored.
SIMMESH_TEST(KnownViewFaults, ViewsOfADimThatIsCutTwice213, {.mesh = {2, 2}, .schedules = 4}) {
  const Placements twice = {Shard(0), Shard(0)};
  for (std::int64_t rows : {8, 5, 6, 3}) {
    Tensor values = formula({rows, 4}, {.rule = Rule::small, .seed = 7});
    EXPECT_EQ(viewed(values, mesh, twice, {rows * 4}), rows % 4 == 0 ? Came::whole : Came::refused);
    EXPECT_EQ(viewed(values, mesh, twice, {rows, 2, 2}), Came::whole);
    EXPECT_EQ(viewed(values, mesh, {Shard(1), Shard(0)}, {1, rows, 4}), Came::whole);
  }
  Tensor values = numbers({8, 4}, 7);
  EXPECT_EQ(viewed(values, mesh, twice, {4, 2, 4}), Came::whole);
  viewed(values, mesh, twice, {2, 4, 4});
}

// 2.13: the backward pass of select along a negative dim raised.
SIMMESH_TEST(KnownViewFaults, SelectAlongANegativeDim213, {.mesh = {2}, .schedules = 4}) {
  for (const Placement& placement : {whole, Placement(Shard(0)), Placement(Shard(1)), total})
    for (std::int64_t dim : {-1, -2, 0})
      expect_like_one_device(mesh, "select", {{{4, 3}, {placement}}},
                             [dim](Given x) { return Outputs{select(x[0], dim, 1)}; });
}

// 2.13: the piece of a rank was unbound, so that ranks had unlike numbers of results.
SIMMESH_TEST(KnownViewFaults, UnbindOfACutDim213, {.mesh = {2}, .schedules = 4}) {
  Tensor values = numbers({3, 2});
  testing::expect_error([&] { unbind(laid(values, mesh, {Shard(0)}), 0); },
                        ErrorKind::runtime_error, "unbind");
  std::vector<Tensor> rows = unbind(laid(values, mesh, {Shard(1)}), 0);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_SAME_BITS(joined(rows[2]), select(values, 0, 2).contiguous());
}

}  // namespace simmesh::known_faults
