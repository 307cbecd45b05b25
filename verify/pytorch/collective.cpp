#include <algorithm>
#include <fmt/format.h>

#include "collectives/collective_call.h"
#include "collectives/collectives.h"
#include "core/tensor/strided_copy.h"
#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_tensor.h"
#include "verify/case_world.h"

namespace simmesh {

namespace {

constexpr std::int64_t collective_world_max = 1024;
// Where members exchange lists, each cuts or keeps a part for every other one.
constexpr std::int64_t parts_max = 1 << 18;

Schema collective_schema() {
  using namespace schema;
  Field reduce = required("reduce", text());
  Field dim = optional("dim", integer());
  Field root = required("root", integer());
  Schema rows = integer({.min = 0, .max = case_elements_max});
  Schema splits = list(list(rows, {.min = 1}), {.min = 1});
  Schema tensor = formula_schema(
      {required("shape", or_null(shape_schema())), required("dtype", dtype_schema())});
  return object_by(
      "op",
      {{"all_reduce", {reduce}},
       {"all_gather", {dim}},
       {"all_gather_list", {}},
       {"reduce_scatter", {reduce, dim}},
       {"broadcast", {root}},
       {"scatter", {root}},
       {"all_to_all", {}},
       {"all_to_all_single", {optional("splits", splits)}}},
      {required("mesh", mesh_schema()), optional("world", world_schema()),
       required("api", word({"functional", "inplace"})), optional("group_dim", integer({.min = 0})),
       required("tensor", tensor), optional("shapes", list(shape_schema(), {.min = 1})),
       expected("before", bits_schema()), expected("after", bits_schema()).unless("error"),
       expected("error", refusal_schema()).or_absent(), optional("oracle", yes())});
}

struct CollectiveCase {
  CaseMesh mesh;
  std::string op;
  bool in_place = false;
  std::optional<std::int64_t> group_dim;
  std::string reduce = "sum";
  std::int64_t dim = 0;
  std::int64_t root = 0;
  Formula data;
  std::vector<Shape> shapes;                      // of each rank's input
  std::vector<std::vector<std::int64_t>> splits;  // of each rank; empty for equal parts
  std::vector<std::optional<CaseBits>> before;
  std::vector<std::optional<CaseBits>> after;

  std::int64_t group_size() const {
    return group_dim ? mesh.shape[std::size_t(*group_dim)] : mesh.world;
  }

  // takes_part is true if a rank makes the call: all do, or those of the mesh whose dim it is.
  bool takes_part(std::int64_t rank) const {
    return !group_dim || mesh.view(rank).get_coordinate().has_value();
  }
};

void read_shapes(const RecordedCase& recorded, CollectiveCase& in) {
  CaseField tensor = recorded["tensor"];
  auto shapes = recorded.find("shapes");
  if (shapes.has_value() != tensor["shape"].is_null())
    recorded.root().reject("either tensor.shape or shapes");
  if (shapes) {
    for (const CaseField& shape : shapes->items()) in.shapes.push_back(shape.shape());
    if (std::int64_t(in.shapes.size()) != in.mesh.world)
      shapes->reject(fmt::format("one shape for each of {} ranks", in.mesh.world));
  } else {
    in.shapes.assign(std::size_t(in.mesh.world), tensor["shape"].shape());
  }
}

// Inputs, the buffers that are written into, and the parts of both; a gather gives each member
// those of all.
void require_result(const RecordedCase& recorded, const CollectiveCase& in) {
  bool has_lists = in.op != "all_reduce" && in.op != "broadcast" && in.op != "all_gather" &&
                   in.op != "reduce_scatter";
  if (has_lists && in.mesh.world * in.group_size() > parts_max)
    recorded["mesh"].reject(fmt::format("at most {} parts in all ranks together", parts_max));
  std::int64_t copies = 4;
  if (in.op == "all_gather" || in.op == "all_gather_list") copies += 2 * in.group_size();
  std::int64_t most = case_elements_max / copies, elements = 0;
  for (const Shape& shape : in.shapes) {
    elements += std::min(numel(shape), most + 1);
    if (elements > most)
      recorded["tensor"].reject(
          fmt::format("inputs of at most {} elements in all ranks together, for {} of {} ranks",
                      most, in.op, in.group_size()));
  }
}

CollectiveCase read_collective_case(const RecordedCase& recorded) {
  CollectiveCase in{.mesh = read_fitting_mesh(recorded), .op = recorded["op"].text()};
  if (in.mesh.world > collective_world_max)
    recorded.root().reject(fmt::format("a world of at most {} ranks", collective_world_max));
  in.in_place = recorded["api"].text() == "inplace";
  if (auto dim = recorded.find("group_dim"))
    in.group_dim = dim->integer({.min = 0, .max = std::int64_t(in.mesh.shape.size()) - 1});
  if (auto reduce = recorded.find("reduce")) in.reduce = reduce->text();
  if (auto dim = recorded.find("dim")) in.dim = dim->integer();
  if (auto root = recorded.find("root")) in.root = root->integer();
  in.data = read_formula(recorded["tensor"]);
  read_shapes(recorded, in);
  require_result(recorded, in);
  if (auto splits = recorded.find("splits")) {
    for (const CaseField& list : splits->items()) {
      in.splits.push_back(list.integers());
      if (std::int64_t(list.size()) != in.group_size())
        list.reject(fmt::format("one entry for each of {} members", in.group_size()));
    }
    if (std::int64_t(in.splits.size()) != in.mesh.world)
      splits->reject(fmt::format("one list for each of {} ranks", in.mesh.world));
  }
  in.before = read_bits(recorded["before"], in.mesh.world, in.data.dtype);
  if (!recorded.has("error")) in.after = read_bits(recorded["after"], in.mesh.world, in.data.dtype);
  return in;
}

Tensor concatenated(const std::vector<Tensor>& parts) {
  Shape shape = parts.at(0).shape();
  shape.at(0) = 0;
  for (const Tensor& part : parts) shape[0] += part.size(0);
  Tensor whole = empty(shape, parts[0].dtype());
  std::int64_t row = 0;
  for (const Tensor& part : parts) {
    Tensor rows = whole.narrow({0, row, part.size(0)});
    copy_(rows, part);
    row += part.size(0);
  }
  return whole;
}

std::vector<Tensor> equal_parts(const Tensor& tensor, std::int64_t parts) {
  std::int64_t rows = tensor.shape().at(0);
  if (rows % parts != 0)
    raise(ErrorKind::value_error, "verify/pytorch/collective", "expected {} equal parts of {} rows",
          parts, rows);
  std::vector<Tensor> result;
  for (std::int64_t i = 0; i < parts; ++i)
    result.push_back(tensor.narrow({0, i * (rows / parts), rows / parts}));
  return result;
}

// Returns the rows that this member gets: those that the members' own lists have for it.
Splits splits_of(const CollectiveCase& in, const ProcessGroup& group, const Tensor& input) {
  auto member = std::size_t(group.rank());
  Splits splits;
  if (in.splits.empty()) {
    splits.input.assign(std::size_t(group.size()), input.size(0) / group.size());
    splits.output = splits.input;
    return splits;
  }
  const auto& own = in.splits[std::size_t(group.owner().id())];
  splits.input.assign(own.begin(), own.end());
  for (std::int64_t i = 0; i < group.size(); ++i)
    splits.output.push_back(in.splits[std::size_t(group.members()[i])].at(member));
  return splits;
}

Tensor reduce_scattered(const CollectiveCase& in, const Tensor& input, const ProcessGroup& group) {
  ReduceWith reduce = ReduceWith::named(in.reduce);
  Along along{.dim = in.dim};
  if (!in.in_place) return reduce_scatter(input, reduce, along, group);
  Shape shape = input.shape();
  shape.at(std::size_t(in.dim)) /= group.size();
  Tensor piece = empty(shape, input.dtype());
  reduce_scatter_(piece, input, reduce, along, group);
  return piece;
}

Tensor all_gathered(const CollectiveCase& in, const Tensor& input, const ProcessGroup& group) {
  if (!in.in_place) return all_gather(input, {.dim = in.dim}, group);
  Shape shape = input.shape();
  shape.at(std::size_t(in.dim)) *= group.size();
  Tensor whole = empty(shape, input.dtype());
  all_gather_(whole, input, {.dim = in.dim}, group);
  return whole;
}

Tensor run_op(const CollectiveCase& in, Tensor input, const ProcessGroup& group) {
  if (in.op == "all_reduce") {
    ReduceWith reduce = ReduceWith::named(in.reduce);
    if (!in.in_place) return all_reduce(input, reduce, group);
    all_reduce_(input, reduce, group);
    return input;
  }
  if (in.op == "broadcast") {
    if (!in.in_place) return broadcast(input, in.root, group);
    broadcast_(input, in.root, group);
    return input;
  }
  if (in.op == "all_gather") return all_gathered(in, input, group);
  // The forms that return lists are the same in place: the caller owns their tensors.
  if (in.op == "all_gather_list") return concatenated(all_gather_list(input, group));
  if (in.op == "reduce_scatter") return reduce_scattered(in, input, group);
  if (in.op == "scatter") {
    std::vector<Tensor> parts;
    if (group.rank() == in.root) parts = equal_parts(input, group.size());
    return scatter(parts, in.root, group);
  }
  if (in.op == "all_to_all")
    return concatenated(all_to_all_list(equal_parts(input, group.size()), group));
  return all_to_all_single(input, splits_of(in, group, input), group);
}

// The engine counts the operations that a rank issues; the words of cases name the same operations.
CollectiveOp engine_op(const std::string& op) {
  if (op == "all_to_all") return CollectiveOp::all_to_all_list;
  if (op == "all_to_all_single") return CollectiveOp::all_to_all;
  std::optional<CollectiveOp> known = collective_op_named(op);
  SIMMESH_CHECK(known, "no operation of the engine is called {}", op);
  return *known;
}

Tensor run_on_rank(const CollectiveCase& in, const Tensor& before, Rank& rank) {
  ProcessGroup group = in.group_dim
                           ? process_group(in.mesh.view(std::int64_t(rank.id())), *in.group_dim)
                           : ProcessGroup::world();
  auto counters = rank.counters();
  Tensor after = run_op(in, before.clone(), group);
  ++counters[std::size_t(engine_op(in.op))];
  if (counters != rank.counters())
    raise(ErrorKind::runtime_error, "verify/pytorch/collective",
          "expected the rank to issue one {} and nothing else", in.op);
  rank.record(after);
  return after;
}

void expect_entry(CaseReport& report, const std::string& who, const std::optional<CaseBits>& entry,
                  const Tensor& tensor) {
  if (entry.has_value() != tensor.is_defined())
    report.mismatch(who + ": does it take part?");
  else if (entry)
    expect_bits(report, who, *entry, tensor);
}

void verify_collective(const RecordedCase& recorded, const VerifyOptions& options,
                       CaseReport& report) {
  CollectiveCase in = read_collective_case(recorded);
  std::vector<Tensor> before(std::size_t(in.mesh.world)), after(std::size_t(in.mesh.world));
  for (std::size_t rank = 0; rank < before.size(); ++rank) {
    Formula data = in.data;
    data.seed += 1 + rank;
    if (in.takes_part(std::int64_t(rank))) before[rank] = formula(in.shapes[rank], data);
    expect_entry(report, fmt::format("rank {} before", rank), in.before[rank], before[rank]);
  }
  World world(world_options(options, in.mesh.world));
  std::optional<Error> error = run_case(
      world,
      [&](Rank& rank) {
        const Tensor& input = before[rank.id()];
        if (input.is_defined()) after[rank.id()] = run_on_rank(in, input, rank);
      },
      report);
  if (auto refusal = recorded.find("error"))
    return report.expect_refusal("a rank", *refusal, error ? &*error : nullptr);
  if (error) return report.mismatch(fmt::format("refused: {}", error->what()));
  for (std::size_t rank = 0; rank < after.size(); ++rank)
    expect_entry(report, fmt::format("rank {} after", rank), in.after[rank], after[rank]);
}

const CaseKind collective_kind(
    {.name = "collective",
     .summary = "the bits of every rank before and after one collective, or the refusal",
     .schema = collective_schema,
     .verifier = verify_collective});

}  // namespace

}  // namespace simmesh
