#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/optim/optimizer.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/optim/matrix_owners.h"

namespace simmesh {

// StateLayout says where the optimiser's state lies between steps: as pieces like those of the
// parameter, or whole with the owner of each block.
enum class StateLayout : std::uint8_t { pieces, owners };

// OwnedOptions are those of OwnedSteps.
struct OwnedOptions {
  OwnerRule rule = OwnerRule::by_size;
  StateLayout state = StateLayout::pieces;
  // The sizes of the blocks into which parameters of two dims are cut, each of which is stepped as
  // a matrix of its own; empty for whole matrices.
  Shape block = {};
};

// OwnedSteps makes the steps of an optimiser that needs whole parameters, such as Muon, where these
// are cut over meshes. Storage and compute layout are two things: gradients, parameters and state
// lie as the placements say, and for a step each block goes to one rank, its owner, which makes the
// step that one device makes, and sends the pieces back. So the result has the bits of one device
// under every placement, in every arithmetic in which the gradients have them.
//
//   optim::TorchMuon muon(tensors);
//   OwnedSteps steps(muon);
//   steps.step();  // in place of muon.step()
//
// Owners are chosen anew in each step, among all ranks of a parameter's mesh, for the blocks that
// have a gradient. Where a mesh dim replicates, one replica's pieces are sent, and the result goes
// to all. Parameters that the optimiser can step piece by piece, and those on one rank, are stepped
// by the optimiser itself.
//
// A step has two all-to-alls for each mesh and dtype. With the state as pieces, 1 + s tensors like
// the parameter go to the owner beside the gradient and come back, where s is the number of state
// tensors; with the state at owners, only the parameter does, and the state moves where the owner
// changes.
class OwnedSteps {
 public:
  // The optimiser must outlive this. Raises a ValueError for blocks where the optimiser keeps state
  // that isn't like the parameter.
  explicit OwnedSteps(optim::Optimizer& optimizer, OwnedOptions options = {});

  // step makes the optimiser's step. All ranks of the meshes call it.
  void step(CallSite site = CallSite::here());

  // settle_state brings all state back into pieces, as state dicts and checkpoints need it. State
  // that isn't like the parameter is then whole on every rank. All ranks of the meshes call it.
  void settle_state(CallSite site = CallSite::here());

  // state_loaded forgets state at owners: the optimiser's own, which was loaded, counts.
  void state_loaded() { holders_.clear(); }

  // OwnedBlock is a block of the last step and its owner, as an index into the ranks of its mesh.
  struct OwnedBlock {
    MatrixBlock block;
    std::int64_t owner;
  };
  const std::vector<OwnedBlock>& last_step() const { return last_step_; }

 private:
  // Holder is the rank that has the state of a block.
  struct Holder {
    std::int64_t member;
    std::map<std::string, Tensor> state;  // on that rank
  };
  struct Key {
    std::size_t parameter;
    Dims offset;
    auto operator<=>(const Key& other) const {
      if (auto order = parameter <=> other.parameter; order != 0) return order;
      return std::lexicographical_compare_three_way(offset.begin(), offset.end(),
                                                    other.offset.begin(), other.offset.end());
    }
    bool operator==(const Key&) const = default;
  };
  struct MeshStep;

  std::vector<std::vector<std::size_t>> by_mesh(const std::vector<std::size_t>& list) const;

  optim::Optimizer* optimizer_;
  OwnedOptions options_;
  std::map<Key, Holder> holders_;
  std::vector<OwnedBlock> last_step_;
};

}  // namespace simmesh
