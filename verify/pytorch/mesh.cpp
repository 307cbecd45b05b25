#include <fmt/format.h>

#include "core/check/join_text.h"
#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_tensor.h"

namespace simmesh {

namespace {

// Bounds the work of one case: a hostile file must not keep the program busy.
constexpr std::size_t mesh_ops_max = 1000;
constexpr std::int64_t mesh_steps_max = std::int64_t{1} << 20;
constexpr std::size_t mesh_list_max = 64;

Schema op_schema() {
  using namespace schema;
  Schema dim = either({text(), integer()});
  Schema names = list(any_text(), {.max = mesh_list_max});
  Schema slice = either({any_text(), names});
  Schema unflatten =
      object({required("dim", dim), required("sizes", list(integer(), {.max = mesh_list_max})),
              required("names", names)});
  Schema query = word({"get_group", "get_local_rank", "size", "get_coordinate", "get_rank",
                       "get_all_groups", "ndim", "shape"});
  return object_of(
      {{"slice", {required("slice", slice)}},
       {"flatten", {required("flatten", or_null(any_text()))}},
       {"unflatten", {required("unflatten", unflatten)}},
       {"concatenate", {required("concatenate", list(slice, {.max = mesh_list_max}))}},
       {"root", {required("root", yes())}},
       {"query", {required("query", query), optional("args", list(dim, {.max = 1}))}}});
}

Schema mesh_case_schema() {
  using namespace schema;
  Schema ranks = list(integer({.min = 0}));
  Schema of_rank = object(
      {expected("coordinate", ranks), expected("mesh", list(integer(), {.min = 1})),
       expected("groups", list(list(integer(), {.min = 1}))), expected("local_rank", ranks)});
  Schema result = object({expected("shape", list(integer({.min = 0}), {.max = mesh_list_max})),
                          expected("names", or_null(list(any_text(), {.max = mesh_list_max}))),
                          expected("ranks", list(or_null(of_rank), {.min = 1}))});
  return object({required("mesh", mesh_schema()), required("how", word({"init", "array"})),
                 optional("world", world_schema()),
                 required("ops", list(op_schema(), {.max = mesh_ops_max})),
                 expected("result", result).unless("error"),
                 expected("error", refusal_schema()).or_absent()});
}

DimNames read_dim_names(const CaseField& field) {
  return field.is_text() ? DimNames(field.text()) : DimNames(field.texts());
}

MeshDim read_dim(const CaseField& field) {
  return field.is_text() ? MeshDim(field.text()) : MeshDim(field.integer());
}

// MeshProgram is the program of a case, which each rank runs on its own view of the mesh.
class MeshProgram {
 public:
  explicit MeshProgram(const RecordedCase& recorded)
      : mesh_(read_mesh(recorded)), ops_(recorded["ops"].items()) {
    bool is_init = recorded["how"].text() == "init";
    if (is_init && mesh_.ranks) recorded["mesh"]["ranks"].reject("no ranks with 'init'");
    if (!is_init && !mesh_.ranks) recorded["mesh"].reject("ranks with 'array'");
    for (const CaseField& op : ops_) check_arguments(op);
    if (mesh_.world * static_cast<std::int64_t>(ops_.size() + 1) > mesh_steps_max)
      recorded["ops"].reject(fmt::format("at most {} steps in all ranks together", mesh_steps_max));
    // A list of ranks is made once, so that not every rank pays its cost.
    if (!mesh_.ranks) return;
    try {
      ranks_ = mesh_.rank_list();
    } catch (const Error& error) {
      ranks_error_ = error;
    }
  }

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
  static void check_arguments(const CaseField& op) {
    auto args = op.find("args");
    if (!args || args->size() == 0) return;
    std::string query = op["query"].text();
    if (query != "get_group" && query != "get_local_rank" && query != "size")
      args->reject("no arguments");
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
      for (const CaseField& slice : slices->items()) meshes.push_back(root[read_dim_names(slice)]);
      return DeviceMesh::concatenate(meshes);
    }
    if (op.has("root")) return root;
    ask(op, mesh);
    return mesh;
  }

  static void ask(const CaseField& op, const DeviceMesh& mesh) {
    std::string query = op["query"].text();
    std::vector<CaseField> args;
    if (auto given = op.find("args")) args = given->items();
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
  }

  CaseMesh mesh_;
  std::vector<CaseField> ops_;
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
        fmt::format("{}: expected [{}], got {}", what, join_text(list, ", "), to_string(ranks)));
}

void compare_rank(const DeviceMesh& mesh, const CaseField& entry, const std::string& who,
                  CaseReport& report) {
  report.expect_equal(who + ": coordinate", entry["coordinate"].dims(), *mesh.get_coordinate());
  expect_ranks(report, who + ": mesh", entry["mesh"], mesh.ranks());
  std::vector<CaseField> groups = entry["groups"].items();
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
    std::optional<Error> actual;
    try {
      DeviceMesh root = program.make_root(rank);
      outside = !root.get_coordinate();
      if (!outside) program.run(root);
    } catch (const BadCase&) {
      throw;
    } catch (const Error& refusal) {
      actual = refusal;
    }
    if (outside) continue;
    met = true;
    report.expect_refusal(fmt::format("rank {}", rank), error, actual ? &*actual : nullptr);
  }
  if (!met) report.mismatch("no rank of the world is in the mesh, so none is refused");
}

void verify_mesh(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  MeshProgram program(recorded);
  if (auto error = recorded.find("error"))
    compare_refusal(program, *error, report);
  else
    compare_result(program, recorded["result"], report);
}

const CaseKind mesh_kind({.name = "mesh",
                          .summary = "shape, names, coordinates, ranks, groups and local ranks "
                                     "after a mesh program, on every rank, or the refusal",
                          .schema = mesh_case_schema,
                          .verifier = verify_mesh});

}  // namespace

}  // namespace simmesh
