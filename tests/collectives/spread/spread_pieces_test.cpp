#include "collectives/spread/spread_pieces.h"

#include <array>
#include <gtest/gtest.h>

#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "core/memory/data_mode.h"
#include "core/tensor/formula.h"
#include "tests/core/engine/spread/run_spread.h"

namespace simmesh {
namespace {

Tensor numbered(std::uint64_t number) {
  return formula(Dims{40}, {.seed = number, .dtype = DType::float32});
}

// Gives process 0 two tensors of process 1, and process 2 one of them, twice over. Says what has
// come that differs.
std::string give_pieces(SpreadRun& spread, PieceUse use) {
  DataModeScope with_data(false);
  std::vector<Piece> pieces;
  for (auto [from, to, number] : {std::array{1, 0, 5}, {1, 0, 6}, {1, 2, 5}, {1, 1, 6}, {0, 2, 7}})
    for (bool narrow : {false, true}) {
      Tensor tensor = numbered(std::uint64_t(number));
      if (narrow) tensor = tensor.narrow({0, 3, 9});
      pieces.push_back(
          {from, to, tensor.dtype(), tensor.shape(), from == spread.process() ? tensor : Tensor()});
    }
  spread.begin_exchange();
  std::vector<Tensor> came = exchange_pieces(spread, "pieces", pieces, use);
  std::string differences;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (came[i].is_defined() != (pieces[i].to == spread.process())) {
      differences += fmt::format("process {} has piece {}; ", spread.process(), i);
      continue;
    }
    if (!came[i].is_defined()) continue;
    Tensor expected = numbered(std::array{5u, 6u, 5u, 6u, 7u}[i / 2]);
    if (i % 2 == 1) expected = expected.narrow({0, 3, 9});
    if (!same_bits(came[i], expected)) differences += fmt::format("piece {} differs; ", i);
  }
  return differences;
}

// A process would get a piece of another one, or share bytes with pieces that stay.
TEST(SpreadPieces, ComeToTheirProcesses) {
  std::string text = run_spread(3, [](WorldSpread&) {
    std::string differences;
    World({.ranks = 3}).run([&](Rank& rank) {
      if (rank.id() != 0) return;
      SpreadRun& spread = *SpreadRun::of(rank.run());
      for (PieceUse use : {PieceUse::operands, PieceUse::results})
        differences += give_pieces(spread, use);
    });
    return differences;
  });
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace simmesh
