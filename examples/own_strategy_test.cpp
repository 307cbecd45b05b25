// Is my rule for cutting an operation over a mesh right: does it give the bits of one device, for
// uneven pieces too?
#include <simmesh/simmesh.h>
#include <simmesh/testing/gtest.h>

using namespace simmesh;

// Placements of the operands of y = x w along one dim of a mesh, and those of the products of the
// pieces.
struct ProductRule {
  Placement x, w, y;
};

const ProductRule product_rules[] = {
    {Replicate(), Replicate(), Replicate()},
    {Shard(0), Replicate(), Shard(0)},
    {Replicate(), Shard(1), Shard(1)},
    {Shard(1), Shard(0), Partial()},  // every rank has an addend of each element
};

// sharded_matmul multiplies the pieces. A partial product is rounded once, when it is complete.
DTensor sharded_matmul(const DTensor& x, const DTensor& w, const Placements& result) {
  KeepUnrounded unrounded(true);
  return from_local(matmul(x.local(), w.local()), x.mesh(), result,
                    {.shape = Shape{x.shape()[0], w.shape()[1]}});
}

// A rule for each of two mesh dims.
class ProductRules : public ::testing::TestWithParam<std::tuple<ProductRule, ProductRule>> {};

SIMMESH_TEST_P(ProductRules, GiveTheBitsOfOneDevice,
               {.mesh = {2, 3}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  const auto& [outer, inner] = GetParam();
  Tensor a = formula({7, 5}, {.seed = 1}), b = formula({5, 4}, {.seed = 2});
  DTensor x = distribute_tensor(a, mesh, {outer.x, inner.x});
  DTensor w = distribute_tensor(b, mesh, {outer.w, inner.w});
  DTensor y = sharded_matmul(x, w, {outer.y, inner.y});
  EXPECT_SAME_BITS(y.full_tensor(), matmul(a, b));
}

INSTANTIATE_TEST_SUITE_P(All, ProductRules,
                         ::testing::Combine(::testing::ValuesIn(product_rules),
                                            ::testing::ValuesIn(product_rules)));

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
