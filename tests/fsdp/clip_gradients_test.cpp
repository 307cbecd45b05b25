#include <gtest/gtest.h>
#include <limits>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/reductions/reductions.h"
#include "sharding/api/dtensor_clip.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<Tensor> full_gradients(nn::Module& model) {
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : model.parameters())
    gradients.push_back(DTensor::of(grad_of(parameter)).full_tensor());
  return gradients;
}

// The norm is that of the whole gradients, also where a rank has no rows: PyTorch raises there for
// the infinity norm, and the other ranks hang.
TEST(Clip, HasTheNormOfTheWholeGradients) {
  for (double p : {1.0, 2.0, infinity}) {
    every_schedule(
        4,
        [p](Rank& rank) {
          nn::ModulePtr model = build_model(small_model(2, 5));
          shard_layers(*model);
          backward(sum((*model)(formula({2, 5}, {.rule = Rule::unit, .seed = 3}))));
          Tensor expected = optim::total_norm(full_gradients(*model), p);
          rank.expect_same_bits(total_norm(model->parameters(), p), expected);
          clip_grad_norm_(model->parameters(), {.max_norm = 0.5, .norm_type = p, .eps = 0.0});
          float norm = total_norm(model->parameters(), p).values<float>()[0];
          expect(norm <= 0.5001F && norm >= 0.4999F, "gradients of the norm that was asked for");
        },
        Arithmetic::exact());
  }
}

}  // namespace
}  // namespace simmesh::fsdp
