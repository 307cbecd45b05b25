#include "verify/pytorch/mesh.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "verify/case_mesh.h"

namespace simmesh {

namespace {

// Bounds the work of one case: a hostile file must not keep the program busy.
constexpr std::size_t ops_max = 1000;
constexpr std::int64_t steps_max = std::int64_t{1} << 22;
constexpr std::size_t mesh_list_max = 64;

DimNames read_dim_names(const CaseField& field) {
  return field.is_text() ? DimNames(field.text()) : DimNames(field.texts());
}

MeshDim read_dim(const CaseField& field) {
  return field.is_text() ? MeshDim(field.text()) : MeshDim(field.integer());
}

// MeshProgram is the program of a case, which each rank runs on its own view of the mesh.
class MeshProgram {
 public:
  MeshProgram(const RecordedCase& recorded, CaseReport& report)
      : mesh_(read_mesh(recorded)), ops_(recorded["ops"].items(ops_max)) {
    known_ = report.expect_known_fields(recorded["mesh"], mesh_fields);
    std::string how = recorded["how"].text();
    if (how != "init" && how != "array") {
      report.mismatch(fmt::format("the way '{}' to make a mesh is not known", how));
      known_ = false;
    }
    if (how == "init" && mesh_.ranks) recorded["mesh"]["ranks"].reject("no ranks with 'init'");
    for (const CaseField& op : ops_) known_ &= check(op, report);
    if (mesh_.world * static_cast<std::int64_t>(ops_.size() + 1) > steps_max)
      recorded["ops"].reject(fmt::format("at most {} steps in all ranks together", steps_max));
    // A list of ranks is made once: what it costs must not be paid by every rank.
    if (!mesh_.ranks || !known_) return;
    try {
      ranks_ = mesh_.rank_list();
    } catch (const Error& error) {
      ranks_error_ = error;
    }
  }

  // known says whether the program has only words that are understood.
  bool known() const { return known_; }
  std::int64_t world() const { return mesh_.world; }

  DeviceMesh make_root(std::int64_t rank) const {
    if (ranks_error_) throw *ranks_error_;
    MeshViewer viewer{.rank = rank, .world_size = mesh_.world};
    return ranks_ ? DeviceMesh::from_ranks(viewer, *ranks_, mesh_.shape, mesh_.names)
                  : DeviceMesh::init(viewer, mesh_.shape, mesh_.names);
  }

  DeviceMesh run(const DeviceMesh& root) const {
    DeviceMesh mesh = root;
    for (const CaseField& op : ops_) mesh = apply(op, root, mesh);
    return mesh;
  }

 private:
  static bool check(const CaseField& op, CaseReport& report) {
    if (op.has("query")) {
      std::string query = op["query"].text();
      constexpr std::string_view queries[] = {"get_group",      "get_local_rank", "size",
                                              "get_coordinate", "get_rank",       "get_all_groups",
                                              "ndim",           "shape"};
      bool known = std::find(std::begin(queries), std::end(queries), query) != std::end(queries);
      if (!known) report.mismatch(fmt::format("the query '{}' is not known", query));
      return report.expect_known_fields(op, {"query", "args"}) && known;
    }
    if (op.keys().size() != 1) op.reject("one operation");
    if (auto parts = op.find("unflatten"))
      return report.expect_known_fields(*parts, {"dim", "sizes", "names"});
    return report.expect_known_fields(op, {"slice", "flatten", "concatenate", "root"});
  }

  static DeviceMesh apply(const CaseField& op, const DeviceMesh& root, const DeviceMesh& mesh) {
    if (auto names = op.find("slice")) return mesh[read_dim_names(*names)];
    if (auto name = op.find("flatten"))
      return name->is_null() ? mesh.flatten() : mesh.flatten(name->text());
    if (auto parts = op.find("unflatten"))
      return mesh.unflatten(read_dim((*parts)["dim"]), (*parts)["sizes"].dims(),
                            (*parts)["names"].texts());
    if (auto slices = op.find("concatenate")) {
      std::vector<DeviceMesh> meshes;
      for (const CaseField& slice : slices->items(mesh_list_max))
        meshes.push_back(root[read_dim_names(slice)]);
      return DeviceMesh::concatenate(meshes);
    }
    if (op.has("root")) return root;
    ask(op, mesh);
    return mesh;
  }

  static void ask(const CaseField& op, const DeviceMesh& mesh) {
    std::string query = op["query"].text();
    std::vector<CaseField> args;
    if (auto given = op.find("args")) args = given->items(1);
    if (query == "get_group" && args.empty())
      mesh.get_group_ranks();
    else if (query == "get_group")
      mesh.get_group_ranks(read_dim(args[0]));
    else if (query == "get_local_rank" && args.empty())
      mesh.get_local_rank();
    else if (query == "get_local_rank")
      mesh.get_local_rank(read_dim(args[0]));
    else if (query == "size" && !args.empty())
      mesh.size(read_dim(args[0]));
    else if (query == "get_all_groups")
      for (std::int64_t dim = 0; dim < mesh.ndim(); ++dim) mesh.get_group_ranks(dim);
    else if (!args.empty())
      op["args"].reject("no arguments");
  }

  CaseMesh mesh_;
  std::vector<CaseField> ops_;
  bool known_ = true;
  std::optional<RankList> ranks_;
  std::optional<Error> ranks_error_;
};

bool equal(const RankList& ranks, const std::vector<std::int64_t>& expected) {
  if (ranks.size() != static_cast<std::int64_t>(expected.size())) return false;
  for (std::int64_t index = 0; index < ranks.size(); ++index)
    if (ranks[index] != expected[static_cast<std::size_t>(index)]) return false;
  return true;
}

void expect_ranks(CaseReport& report, const std::string& what, const CaseField& expected,
                  const RankList& ranks) {
  std::vector<std::int64_t> list = expected.integers();
  if (!equal(ranks, list))
    report.mismatch(
        fmt::format("{}: expected [{}], got {}", what, fmt::join(list, ", "), to_string(ranks)));
}

void compare_rank(const DeviceMesh& mesh, const CaseField& entry, const std::string& who,
                  CaseReport& report) {
  if (!report.expect_known_fields(entry, {"coordinate", "mesh", "groups", "local_rank"})) return;
  report.expect_equal(who + ": coordinate", entry["coordinate"].dims(), *mesh.get_coordinate());
  expect_ranks(report, who + ": mesh", entry["mesh"], mesh.ranks());
  std::vector<CaseField> groups = entry["groups"].items(mesh_list_max);
  if (report.expect_equal(who + ": number of groups", groups.size(), mesh.shape().size()))
    for (std::size_t dim = 0; dim < groups.size(); ++dim)
      expect_ranks(report, fmt::format("{}: group of dim {}", who, dim), groups[dim],
                   mesh.get_group_ranks(dim));
  Dims local_ranks;
  for (std::int64_t dim = 0; dim < mesh.ndim(); ++dim)
    local_ranks.push_back(mesh.get_local_rank(dim));
  report.expect_equal(who + ": local_rank", entry["local_rank"].dims(), local_ranks);
}

void compare_result(const MeshProgram& program, const CaseField& result, CaseReport& report) {
  if (!report.expect_known_fields(result, {"shape", "names", "ranks"})) return;
  Shape shape = result["shape"].dims();
  std::vector<std::string> names;
  if (!result["names"].is_null()) names = result["names"].texts();
  std::vector<CaseField> entries = result["ranks"].items();
  if (static_cast<std::int64_t>(entries.size()) != program.world())
    result["ranks"].reject(fmt::format("one entry for each of {} ranks", program.world()));
  for (std::int64_t rank = 0; rank < program.world(); ++rank) {
    const CaseField& entry = entries[static_cast<std::size_t>(rank)];
    std::string who = fmt::format("rank {}", rank);
    DeviceMesh root = program.make_root(rank);
    if (!root.get_coordinate() || entry.is_null()) {
      if (root.get_coordinate() || !entry.is_null())
        report.mismatch(fmt::format("{}: expected a rank {} the mesh, got one {} it", who,
                                    entry.is_null() ? "outside" : "of",
                                    entry.is_null() ? "of" : "outside"));
      continue;
    }
    DeviceMesh mesh = program.run(root);
    report.expect_equal(who + ": shape", shape, mesh.shape());
    report.expect_equal(who + ": names", names, mesh.names());
    compare_rank(mesh, entry, who, report);
  }
}

// Every rank of the mesh must be refused; where the mesh itself is refused, every rank of the
// world.
void compare_refusal(const MeshProgram& program, const CaseField& error, CaseReport& report) {
  bool met = false;
  for (std::int64_t rank = 0; rank < program.world(); ++rank) {
    bool outside = false;
    std::optional<Error> came;
    try {
      DeviceMesh root = program.make_root(rank);
      outside = !root.get_coordinate();
      if (!outside) program.run(root);
    } catch (const BadCase&) {
      throw;
    } catch (const Error& refusal) {
      came = refusal;
    }
    if (outside) continue;
    met = true;
    report.expect_refusal(fmt::format("rank {}", rank), error, came ? &*came : nullptr);
  }
  if (!met) report.mismatch("no rank of the world is in the mesh, so none is refused");
}

}  // namespace

void verify_mesh(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  MeshProgram program(recorded, report);
  if (!program.known()) return;
  std::optional<CaseField> error = recorded.find("error");
  if (error.has_value() == recorded.has("result")) recorded.root().reject("either result or error");
  if (error)
    compare_refusal(program, *error, report);
  else
    compare_result(program, recorded["result"], report);
}

}  // namespace simmesh
