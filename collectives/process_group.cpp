#include "collectives/process_group.h"

#include "collectives/group.h"
#include "core/check/error.h"
#include "core/engine/run/followed_release.h"
#include "core/engine/run/rank_threads.h"
#include "core/engine/world.h"

namespace simmesh {

namespace {

// Returns whose collectives the caller makes: a thread those of the rank that started it.
RankId communicator(Rank& rank) {
  const WorldOptions& options = rank.world().options();
  return RankThreads::is_thread(options, rank.id()) ? rank_behind(options, rank.id()) : rank.id();
}

}  // namespace

ProcessGroup ProcessGroup::world() {
  Rank& rank = this_rank();
  const WorldOptions& options = rank.world().options();
  auto ranks = std::int64_t(options.ranks);
  auto crew = std::int64_t(crew_of(options, communicator(rank)));
  if (crew == 0) return of(RankList::range(ranks), "world");
  RankList all = RankList::range(std::int64_t(fibers(options)));
  return of(all.select(crew * ranks, Layout({{ranks, 1}})), "deputies " + std::to_string(crew - 1));
}

ProcessGroup ProcessGroup::of(const RankList& members, const std::string& name) {
  Rank& rank = this_rank();
  Run& run = rank.run();
  auto ranks = std::int64_t(rank.world().ranks());
  RankId self = communicator(rank);
  auto member = members.index_of(self);
  if (!member)
    raise(ErrorKind::value_error, "collectives/process_group",
          "expected rank {} to be a member of group {} {}", self, name, to_string(members));
  auto crew = std::int64_t(crew_of(rank.world().options(), self));
  if (members.max() >= ranks * (crew + 1) || members.min() < ranks * crew)
    raise(ErrorKind::value_error, "collectives/process_group",
          "expected members below the {} ranks of the world, got {}", ranks, to_string(members));
  run.take_turn(rank);
  Group& group = run.state<GroupTable>().find_or_make(run, members, name);
  if (group.is_aborted(std::size_t(*member)))
    raise(ErrorKind::runtime_error, "collectives/process_group",
          "Could not resolve the process group {} {}: expected one that rank {} didn't abort", name,
          to_string(members), self);
  return ProcessGroup(group, std::size_t(*member), rank);
}

void ProcessGroup::check_caller() const {
  Rank* rank = Rank::active();
  if (!rank)
    raise(ErrorKind::runtime_error, "collectives/process_group",
          "expected a rank to use its process group, got a thread that runs no rank; operations "
          "belong into the body that World::run runs");
  if (rank->run_number() != run_number_)
    raise(ErrorKind::runtime_error, "collectives/process_group",
          "rank {}: expected a process group of this run, got one that was made in another",
          rank->id());
  RankId member = group_->membership().rank_of(member_);
  if (communicator(*rank) == member) return;
  raise(ErrorKind::runtime_error, "collectives/process_group",
        "rank {}: expected a process group that it made itself, got one of rank {}; each rank "
        "makes its own",
        communicator(*rank), member);
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

void abort(const DeviceMesh& mesh) {
  constexpr std::string_view where = "collectives/abort";
  if (!follows(ReleaseChange::mesh_abort))
    raise(ErrorKind::attribute_error, where,
          "'DeviceMesh' object has no attribute 'abort' under release {}; expected 2.15",
          to_string(followed_release()));
  if (!mesh.is_root())
    raise(ErrorKind::runtime_error, where,
          "abort() is not supported on a submesh, got {}: call it on the root mesh {}",
          to_string(mesh), to_string(mesh.root()));
  if (!mesh.get_coordinate()) return;
  std::vector<ProcessGroup> groups;
  for (std::int64_t dim = 0; dim < mesh.ndim(); ++dim) groups.push_back(process_group(mesh, dim));
  for (const DeviceMesh& flattened : mesh.flattened_meshes())
    groups.push_back(process_group(flattened));
  for (const ProcessGroup& group : groups) group.group().abort(group.member());
}

DeviceMesh init_device_mesh(const Shape& shape, const DimNames& names) {
  Rank& rank = this_rank();
  return DeviceMesh::init({.rank = rank.id(), .world_size = std::int64_t(rank.world().ranks())},
                          shape, names);
}

}  // namespace simmesh
