#include <gmock/gmock.h>
#include <gsl/util>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include "core/check/error.h"
#include "core/engine/world.h"
#include "core/tensor/tensor.h"
#include "tests/every_schedule.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

std::uint64_t hash_of(const Tensor& output) {
  World world({.ranks = 1});
  return world.run([&](Rank& rank) { rank.record(output); }).data_hash;
}

TEST(Rank, TheDataHashSeesShapeDtypeAndBits) {
  Tensor zero = zeros({2, 3}, DType::float32);
  EXPECT_EQ(hash_of(zero), hash_of(zeros({2, 3}, DType::float32)));
  EXPECT_NE(hash_of(zero), hash_of(zeros({3, 2}, DType::float32)));
  EXPECT_NE(hash_of(zero), hash_of(zeros({2, 3}, DType::int32)));
  EXPECT_NE(hash_of(zero), hash_of(full({2, 3}, DType::float32, -0.0)));
}

TEST(Rank, ExpectSameBitsNamesRankAndPlace) {
  World world({.ranks = 2});
  constexpr int line = __LINE__ + 5;
  Outcome outcome = world.run([](Rank& rank) {
    Tensor got = zeros({2, 2}, DType::float32);
    rank.expect_same_bits(got, got.clone());
    got.mutable_values<float>()[3] = float(rank.id());
    rank.expect_same_bits(got, zeros({2, 2}, DType::float32));
  });
  ASSERT_FALSE(outcome.ok());
  std::string place = fmt::format("rank 1 at rank_test.cpp:{}: ", line);
  EXPECT_THAT(outcome.failure->message, ::testing::HasSubstr(place + "1 of 4 elements"));
}

TEST(Rank, StreamsAreItsOwn) {
  World world({.ranks = 2, .seed = 4});
  std::uint64_t words[2];
  ASSERT_TRUE(world.run([&](Rank& rank) { words[rank.id()] = rank.random().next(); }).ok());
  EXPECT_NE(words[0], words[1]);
  EXPECT_EQ(words[1], RandomStream(4, 1).next());
}

// If this fails, a rank that uses the Rank of another one, or that lends its own to a thread, ends
// the program by a signal.
TEST(Rank, IsUsedInItsOwnBodyOnly) {
  Rank* first = nullptr;
  int ended = 0;
  run_every_schedule(2, [&](Rank& rank) {
    // The ranks of a run end with it.
    auto ends = gsl::finally([&] {
      if (++ended % 2 == 0) first = nullptr;
    });
    if (rank.id() == 0) first = &rank;
    rank.yield();
    if (rank.id() == 0 || first == nullptr) return;
    std::string refusal = testing::error_text([&] { first->yield(); });
    EXPECT_THAT(refusal, ::testing::HasSubstr("expected rank 0 to be used in its own body, got it "
                                              "used by rank 1"));
    std::thread([&] { refusal = testing::error_text([&] { rank.sleep(1); }); }).join();
    EXPECT_THAT(refusal, ::testing::HasSubstr("got it used by a thread that runs no rank"));
  });
}

}  // namespace
}  // namespace simmesh
