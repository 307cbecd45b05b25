#include "collectives/process_group.h"

#include "collectives/group.h"
#include "core/check/error.h"
#include "core/engine/world.h"

namespace simmesh {

ProcessGroup ProcessGroup::world() {
  return of(RankList::range(std::int64_t(this_rank().world().ranks())), "world");
}

ProcessGroup ProcessGroup::of(const RankList& members, const std::string& name) {
  Rank& rank = this_rank();
  Run& run = rank.run();
  auto ranks = std::int64_t(rank.world().ranks());
  auto member = members.index_of(rank.id());
  if (!member)
    raise(ErrorKind::value_error, "collectives/process_group",
          "expected rank {} to be a member of group {} {}", rank.id(), name, to_string(members));
  if (members.max() >= ranks)
    raise(ErrorKind::value_error, "collectives/process_group",
          "expected members below the {} ranks of the world, got {}", ranks, to_string(members));
  run.take_turn(rank);
  Group& group = run.state<GroupTable>().find_or_make(run, members, name);
  return ProcessGroup(group, std::size_t(*member), rank);
}

void ProcessGroup::refuse_caller() const {
  Rank* rank = Rank::active();
  if (!rank)
    raise(ErrorKind::runtime_error, "collectives/process_group",
          "expected a rank to use its process group, got a thread that runs no rank; operations "
          "belong into the body that World::run runs");
  if (rank->run_number() != run_number_)
    raise(ErrorKind::runtime_error, "collectives/process_group",
          "rank {}: expected a process group of this run, got one that was made in another",
          rank->id());
  raise(ErrorKind::runtime_error, "collectives/process_group",
        "rank {}: expected a process group that it made itself, got one of rank {}; each rank "
        "makes its own",
        rank->id(), group_->membership().rank_of(member_));
}

const RankList& ProcessGroup::members() const { return group_->membership().members(); }
const std::string& ProcessGroup::name() const { return group_->membership().name(); }

ProcessGroup process_group(const DeviceMesh& mesh, const MeshDim& dim) {
  std::int64_t index = mesh.dim_index(dim);
  std::string name =
      mesh.names().empty() ? "dim" + std::to_string(index) : mesh.names()[std::size_t(index)];
  return ProcessGroup::of(mesh.get_group_ranks(dim), name);
}

ProcessGroup process_group(const DeviceMesh& mesh) {
  RankList members = mesh.get_group_ranks();
  return ProcessGroup::of(members, mesh.names().empty() ? "dim0" : mesh.names()[0]);
}

DeviceMesh init_device_mesh(const Shape& shape, const DimNames& names) {
  Rank& rank = this_rank();
  return DeviceMesh::init({.rank = rank.id(), .world_size = std::int64_t(rank.world().ranks())},
                          shape, names);
}

}  // namespace simmesh
