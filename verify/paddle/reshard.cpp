#include "sharding/paddle/reshard.h"

#include <algorithm>

#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_world.h"
#include "verify/paddle/case_layout.h"
#include "verify/pytorch/case_source.h"

namespace simmesh {

namespace {

constexpr std::int64_t reshard_world_max = 1024;

Schema reshard_function_schema() {
  using namespace schema;
  std::vector<std::string> names;
  for (int i = 0; i <= int(paddle::ReshardFunction::sub_mesh_to_global); ++i)
    names.emplace_back(paddle::to_string(paddle::ReshardFunction(i)));
  return or_null(word(names));
}

// A refusal, or a note that the recorded run ended without one.
Schema either_refused_or_crashed() {
  using namespace schema;
  return object({expected("error", word({"IndexError", "KeyError", "NotImplementedError",
                                         "RuntimeError", "TypeError", "ValueError", "crash"})),
                 expected("message_contains", text()).or_absent()});
}

// Returns the fields of both kinds: the change, and its result.
schema::Fields reshard_fields() {
  using namespace schema;
  return {required("world", integer({.min = 1, .max = reshard_world_max})),
          required("mesh", mesh_schema()),
          required("tensor", tensor_schema()),
          required("to", paddle_placements_schema()),
          expected("function", reshard_function_schema()).or_absent(),
          expected("after", bits_schema()).unless("error"),
          expected("error", either_refused_or_crashed()).or_absent(),
          optional("oracle", yes())};
}

Schema reshard_case_schema() {
  using namespace schema;
  Fields fields = reshard_fields();
  fields.push_back(optional("to_mesh", mesh_schema()));
  fields.push_back(required("from", paddle_placements_schema()));
  fields.push_back(expected("before", bits_schema()).unless("error"));
  fields.push_back(expected("reported", paddle_placements_schema()).or_absent());
  return object(std::move(fields));
}

Schema shard_tensor_case_schema() {
  using namespace schema;
  return object(reshard_fields());
}

struct ReshardCase {
  CaseTensor tensor;
  CaseMesh mesh;
  CaseMesh to_mesh;
  Placements from;
  Placements to;
  std::vector<std::optional<CaseBits>> before;
  std::vector<std::optional<CaseBits>> after;
};

// The result of one rank; empty on a rank outside both meshes.
struct ReshardResult {
  Tensor before;
  Tensor after;
  std::optional<Error> refusal;
};

CaseMesh read_reshard_mesh(const RecordedCase& recorded, const CaseField& field) {
  CaseMesh mesh{.shape = field["shape"].dims(), .ranks = {}, .names = {}};
  mesh.world = recorded["world"].integer();
  if (auto ranks = field.find("ranks")) mesh.ranks = ranks->integers();
  std::int64_t count = numel(mesh.shape);
  if (mesh.shape.empty() || mesh.shape.size() > std::size_t(case_mesh_dims_max) || count < 1 ||
      count > mesh.world || (mesh.ranks && std::int64_t(mesh.ranks->size()) != count))
    field.reject("a mesh of ranks of the world");
  return mesh;
}

void require_placements(const CaseField& field, const Placements& placements, const CaseMesh& mesh,
                        const Shape& shape) {
  if (placements.size() != mesh.shape.size()) field.reject("one placement a mesh dim");
  for (const Placement& placement : placements)
    if (placement.is_shard() &&
        (placement.dim() < 0 || placement.dim() >= std::int64_t(shape.size())))
      field.reject("shards of the tensor's dims, counted from the front");
}

ReshardCase read_reshard_case(const RecordedCase& recorded) {
  ReshardCase in;
  in.tensor = read_tensor(recorded["tensor"]);
  in.mesh = read_reshard_mesh(recorded, recorded["mesh"]);
  auto to_mesh = recorded.find("to_mesh");
  in.to_mesh = to_mesh ? read_reshard_mesh(recorded, *to_mesh) : in.mesh;
  bool is_reshard = recorded.has("from");
  in.from = is_reshard ? read_paddle_placements(recorded["from"])
                       : Placements(in.mesh.shape.size(), Replicate());
  in.to = read_paddle_placements(recorded["to"]);
  require_placements(is_reshard ? recorded["from"] : recorded["to"], in.from, in.mesh,
                     in.tensor.shape);
  require_placements(recorded["to"], in.to, in.to_mesh, in.tensor.shape);
  std::int64_t logical = CaseSource::logical_count(in.mesh.shape, in.from);
  require_elements(recorded["tensor"], in.tensor.shape, logical + 2 * in.mesh.world);
  if (recorded.has("before"))
    in.before = read_bits(recorded["before"], in.mesh.world, in.tensor.data.dtype);
  if (recorded.has("after"))
    in.after = read_bits(recorded["after"], in.mesh.world, in.tensor.data.dtype);
  return in;
}

ReshardResult reshard_on_rank(const ReshardCase& in, const CaseSource& source, bool is_reshard,
                              Rank& rank) {
  paddle::ReshardCall call{.shape = in.tensor.shape,
                           .dtype = in.tensor.data.dtype,
                           .from_mesh = in.mesh.view(rank.id()),
                           .from = in.from,
                           .to_mesh = in.to_mesh.view(rank.id()),
                           .to = in.to};
  ReshardResult result;
  if (!call.from_mesh.get_coordinate() && !call.to_mesh.get_coordinate()) return result;
  if (call.from_mesh.get_coordinate())
    result.before = source.local(*call.from_mesh.get_coordinate());
  try {
    result.after = is_reshard ? paddle::reshard(result.before, call)
                              : paddle::shard_tensor(result.before, call.to_mesh, call.to);
  } catch (const Error& error) {
    result.refusal = error;
    return result;
  }
  if (result.after.is_defined()) rank.record(result.after);
  return result;
}

bool has_crashed(const RecordedCase& recorded) {
  auto error = recorded.find("error");
  return error && (*error)["error"].text() == "crash";
}

void expect_function(const RecordedCase& recorded, const ReshardCase& in, CaseReport& report) {
  paddle::ProcessMeshLayout from{in.mesh.shape, in.mesh.rank_list(), in.from};
  paddle::ProcessMeshLayout to{in.to_mesh.shape, in.to_mesh.rank_list(), in.to};
  auto field = recorded.find("function");
  if (!field && !has_crashed(recorded)) recorded.root().reject("a function");
  if (!field) return;
  std::string expected = field->is_null() ? "none" : field->text(), actual = "none";
  try {
    if (auto function = paddle::choose_reshard(from, to)) actual = to_string(*function);
  } catch (const Error&) {
    // No function fits: the ranks are refused with the same error.
  }
  report.expect_equal("function", expected, actual);
}

void expect_piece(CaseReport& report, const std::string& at,
                  const std::optional<CaseBits>& expected, const Tensor& actual) {
  // For a rank that holds nothing of a shard the record may have either form.
  bool holds_nothing = !actual.is_defined() || actual.numel() == 0;
  if (!expected && holds_nothing) return;
  if (expected.has_value() != actual.is_defined())
    report.mismatch(fmt::format("{}: expected {} piece, got {}", at, expected ? "a" : "no",
                                actual.is_defined() ? "one" : "none"));
  else if (expected)
    expect_bits(report, at, *expected, actual);
}

void compare_reshard(const RecordedCase& recorded, const ReshardCase& in,
                     const std::vector<ReshardResult>& results, CaseReport& report) {
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    const ReshardResult& result = results[rank];
    std::string at = fmt::format("rank {}", rank);
    if (auto error = recorded.find("error")) {
      bool takes_part = in.mesh.rank_list().index_of(std::int64_t(rank)).has_value() ||
                        in.to_mesh.rank_list().index_of(std::int64_t(rank)).has_value();
      if (takes_part && has_crashed(recorded))
        report.mismatch(fmt::format("{}: the recorded run crashed, this one {}", at,
                                    result.refusal ? "refuses" : "ends well"));
      else if (takes_part)
        report.expect_refusal(at, *error, result.refusal ? &*result.refusal : nullptr);
      continue;
    }
    if (result.refusal) {
      report.mismatch(fmt::format("{}: refused: {}", at, result.refusal->what()));
      continue;
    }
    if (!in.before.empty()) expect_piece(report, at + " before", in.before[rank], result.before);
    expect_piece(report, at + " after", in.after[rank], result.after);
  }
}

void verify_paddle_reshard(const RecordedCase& recorded, const VerifyOptions& options,
                           CaseReport& report) {
  ReshardCase in = read_reshard_case(recorded);
  expect_function(recorded, in, report);
  CaseSource source(in.tensor, in.mesh.shape, {in.from, {}});
  std::vector<ReshardResult> results(std::size_t(in.mesh.world));
  World world(world_options(options, in.mesh.world));
  bool is_reshard = recorded.has("from");
  // A refused call has no data to hash.
  CaseReport unhashed;
  auto error = run_case(
      world,
      [&](Rank& rank) { results[rank.id()] = reshard_on_rank(in, source, is_reshard, rank); },
      recorded.has("error") ? unhashed : report);
  if (error) return report.mismatch(fmt::format("refused: {}", error->what()));
  for (const std::string& mismatch : unhashed.mismatches()) report.mismatch(mismatch);
  compare_reshard(recorded, in, results, report);
}

const CaseKind paddle_reshard_kind(
    {.name = "paddle_reshard",
     .summary = "the function that changes a layout or mesh, and the bits of every rank before and "
                "after, or the refusal",
     .schema = reshard_case_schema,
     .verifier = verify_paddle_reshard});

const CaseKind paddle_shard_tensor_kind(
    {.name = "paddle_shard_tensor",
     .summary = "the function that lays out a tensor which every rank holds whole, and the bits of "
                "every rank",
     .schema = shard_tensor_case_schema,
     .verifier = verify_paddle_reshard});

}  // namespace

}  // namespace simmesh
