#include "sharding/parallel/equal_pieces.h"

#include <map>
#include <string>

#include "core/check/error.h"
#include "core/engine/ranks/local_state.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"

namespace simmesh {

namespace {

// The number of pieces that this rank has passed to a module, by mesh.
struct OwnCalls {
  std::map<std::string, std::uint64_t> of_mesh;
};

// The piece of the first rank that made a call, kept until all have made it.
struct FirstPiece {
  std::int64_t rank = 0;
  Shape shape;
  std::int64_t seen = 0;
};
struct OpenCalls {
  std::map<std::pair<std::string, std::uint64_t>, FirstPiece> first;
};

}  // namespace

void check_equal_pieces(const Tensor& piece, const DeviceMesh& mesh, const Placement& shard) {
  Rank& rank = this_rank();
  std::string name = to_string(mesh);
  std::uint64_t call = local_state<OwnCalls>().of_mesh[name]++;
  rank.run().take_turn(rank);
  auto& open = rank.world().state<OpenCalls>().first;
  FirstPiece& first = open[{name, call}];
  if (first.seen == 0) first = {std::int64_t(rank.id()), piece.shape()};
  if (piece.shape() != first.shape)
    raise(ErrorKind::runtime_error, "sharding/parallelize",
          "rank {}: a module takes plain pieces for equal shards {} on all {} ranks; expected the "
          "shape {} as on rank {}, got {}. Hand it a distributed tensor, by from_local with the "
          "shape of the whole",
          rank.id(), to_string(shard), mesh.size(), to_string(DimSpan(first.shape)), first.rank,
          to_string(DimSpan(piece.shape())));
  if (++first.seen == mesh.size()) open.erase({name, call});
}

}  // namespace simmesh
