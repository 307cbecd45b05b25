#pragma once

#include <string>

#include "core/engine/ranks/rank.h"
#include "mesh/device_mesh.h"
#include "mesh/rank_list.h"

namespace simmesh {

class Group;

// ProcessGroup is an ordered set of ranks that communicate, as one of them sees it: a cheap value.
// All members that name the same ranks and label get the same group, in which each has its own
// count of collectives. It is used by the rank that made it and the threads of that rank, until the
// run ends.
//
//   ProcessGroup dp = process_group(mesh, "dp");
//   Tensor sum = all_reduce(gradient, ReduceOp::sum, dp);
class ProcessGroup {
 public:
  // world returns the group of all ranks.
  static ProcessGroup world();

  // of returns the group of the given ranks. Raises a ValueError where this rank is not one of them
  // or a rank isn't in the world.
  static ProcessGroup of(const RankList& members, const std::string& name = "group");

  // members returns the global ranks of the group, in its order.
  const RankList& members() const;
  std::int64_t size() const { return members().size(); }
  // rank returns this rank's index within the group.
  std::int64_t rank() const { return std::int64_t(member_); }
  const std::string& name() const;

  Group& group() const { return *group_; }
  std::size_t member() const { return member_; }

  // owner returns the rank whose group it is, which is the caller, or else the caller's own seat if
  // that is a thread of this rank. Raises a RuntimeError in another rank, in a later run, and on a
  // thread that runs no rank.
  Rank& owner() const {
    Rank* rank = Rank::active();
    if (rank != owner_ || rank->run_number() != run_number_) [[unlikely]]
      check_caller();
    return *rank;
  }

 private:
  ProcessGroup(Group& group, std::size_t member, Rank& owner)
      : group_(&group),
        owner_(&owner),
        run_number_(owner.run_number()),
        member_(std::uint32_t(member)) {}

  void check_caller() const;

  Group* group_;
  Rank* owner_;
  std::uint32_t run_number_;
  std::uint32_t member_;
};

// process_group returns the group of this rank along one dim of a mesh, in coordinate order and
// named like the dim. Raises the errors of DeviceMesh::get_group_ranks.
ProcessGroup process_group(const DeviceMesh& mesh, const MeshDim& dim);
// For a 1-D mesh the dim needs no name.
ProcessGroup process_group(const DeviceMesh& mesh);

// abort takes this rank out of the groups along the dims of a root mesh, and of its flattened
// meshes. It doesn't block, and no other rank has to call it. Afterwards, on this rank, a
// collective or message in one of them is a ValueError. Asking for one of them, aborting again, and
// waiting for an operation that isn't complete are RuntimeErrors. It takes the rank out of the
// groups of all meshes with these ranks and names. Raises a RuntimeError for a mesh that isn't the
// root, and an AttributeError under release 2.13, which doesn't have it. Outside the mesh nothing
// happens.
void abort(const DeviceMesh& mesh);

// init_device_mesh arranges ranks 0, 1, ... of this rank's world, as torch.distributed's function
// of that name does. Raises the errors of DeviceMesh::init.
DeviceMesh init_device_mesh(const Shape& shape, const DimNames& names = {});

}  // namespace simmesh
