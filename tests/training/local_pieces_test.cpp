#include "training/local_pieces.h"

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/nn/containers.h"
#include "core/nn/linear.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"
#include "sharding/parallel/colwise_parallel.h"
#include "sharding/parallel/rowwise_parallel.h"
#include "testing/gtest.h"

namespace simmesh {
namespace {

std::shared_ptr<nn::Sequential> make_pair() {
  std::vector<nn::NamedModule> layers = {
      {"fc1", std::make_shared<nn::Linear>(nn::Linear::Options{.in = 4, .out = 6})},
      {"fc2", std::make_shared<nn::Linear>(nn::Linear::Options{.in = 6, .out = 3})}};
  auto model = std::make_shared<nn::Sequential>(std::move(layers));
  std::uint64_t seed = 1;
  for (auto& [name, parameter] : model->named_parameters()) {
    Tensor data = parameter.detach();
    copy_(data, formula(data.shape(), {.rule = Rule::unit, .seed = seed++}));
  }
  return model;
}

// A ZeRO engine that saw the pieces without their mesh would train a model of parts that never met.
SIMMESH_TEST(LocalPieces, TrainsAsTheDistributedModel,
             {.mesh = {2}, .arithmetic = Arithmetic::exact()}) {
  auto whole = make_pair(), cut = make_pair();
  ColwiseParallel().apply(cut->child("fc1"), mesh);
  RowwiseParallel().apply(cut->child("fc2"), mesh);
  LocalPieces pieces(*cut);
  Tensor x = formula({5, 4}, {.rule = Rule::wide, .seed = 9});
  Tensor expected = (*whole)(x), actual = (*cut)(x);
  EXPECT_SAME_BITS(actual, expected);
  backward(sum(expected));
  backward(sum(actual));
  std::vector<nn::NamedTensor> parameters = cut->named_parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, parameter] = parameters[i];
    EXPECT_FALSE(parameter.distribution()) << name;
    EXPECT_TRUE(pieces.is_cut(name));
    EXPECT_SAME_BITS(pieces.whole(name, parameter.detach()), whole->parameters()[i].detach());
    EXPECT_SAME_BITS(pieces.whole(name, grad_of(parameter)), grad_of(whole->parameters()[i]));
    bool is_replicated = name == "fc2.bias";
    EXPECT_EQ(pieces.counts(name), !is_replicated || mesh.get_rank() == 0) << name;
  }
}

}  // namespace
}  // namespace simmesh
