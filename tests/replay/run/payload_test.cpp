#include "replay/run/payload.h"

#include <gtest/gtest.h>
#include <set>

#include "core/tensor/elements_hash.h"
#include "tests/replay/run/hand_job.h"

namespace simmesh::replay {

namespace {

std::uint64_t payload_hash(const Tensor& tensor) {
  return elements_hash({tensor.data(), tensor.bytes()}, tensor.dtype());
}

// Would fail if two tensors of a job were sent with the same elements: a mix-up could go unseen.
TEST(Payload, DiffersByRankStepInputAndSeed) {
  samples::HandJob job(3);
  for (std::int64_t rank = 0; rank < 3; ++rank)
    for (std::int64_t request = 1; request <= 3; ++request)
      job.comm(rank, {.name = "allreduce_coalesced",
                      .request = request,
                      .inputs = {{.storage = 1, .elements = 64}, {.storage = 2, .elements = 64}}});
  ReplayProgram program = job.program();
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed : {0, 1})
    for (const RankProgram& rank : program.ranks)
      for (std::uint32_t step = 0; step < 3; ++step)
        for (std::uint32_t input = 0; input < 2; ++input)
          hashes.insert(payload_hash(payload_of(rank, step, input, {.seed = seed})));
  EXPECT_EQ(hashes.size(), 2u * 3 * 3 * 2);
}

// Would fail if a tensor that is listed twice were given two contents.
TEST(Payload, IsTheSameForTheSameMemory) {
  samples::HandJob job(1);
  samples::HandTensor twice{.storage = 1, .elements = 16}, other{.storage = 1, .elements = 15};
  job.comm(0, {.name = "all_to_all", .inputs = {twice, other, twice}, .outputs = {twice}});
  ReplayProgram program = job.program();
  EXPECT_TRUE(
      same_bits(payload_of(program.ranks[0], 0, 0, {}), payload_of(program.ranks[0], 0, 2, {})));
  EXPECT_EQ(payload_of(program.ranks[0], 0, 1, {}).numel(), 15);
}

}  // namespace

}  // namespace simmesh::replay
