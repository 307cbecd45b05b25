#include "verify/pytorch/collective.h"

#include <algorithm>
#include <fmt/format.h>

#include "collectives/collectives.h"
#include "core/tensor/strided_copy.h"
#include "verify/case_bits.h"
#include "verify/case_mesh.h"
#include "verify/case_tensor.h"
#include "verify/case_world.h"

namespace simmesh {

namespace {

constexpr std::int64_t world_max = 4096;

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
};

void read_shapes(const RecordedCase& recorded, CollectiveCase& in) {
  CaseField tensor = recorded["tensor"];
  if (auto shapes = recorded.find("shapes")) {
    for (const CaseField& shape : shapes->items()) in.shapes.push_back(shape.shape());
    if (std::int64_t(in.shapes.size()) != in.mesh.world)
      shapes->reject(fmt::format("one shape for each of {} ranks", in.mesh.world));
  } else {
    in.shapes.assign(std::size_t(in.mesh.world), tensor["shape"].shape());
  }
  for (const Shape& shape : in.shapes) require_elements(tensor, shape, 2 * in.mesh.world);
}

CollectiveCase read_collective_case(const RecordedCase& recorded) {
  CollectiveCase in{.mesh = read_mesh(recorded), .op = recorded["op"].text()};
  if (in.mesh.world > world_max)
    recorded.root().reject(fmt::format("a world of at most {} ranks", world_max));
  std::string api = recorded["api"].text();
  if (api != "inplace" && api != "functional") recorded["api"].reject("inplace or functional");
  in.in_place = api == "inplace";
  if (auto dim = recorded.find("group_dim"))
    in.group_dim = dim->integer({.min = 0, .max = std::int64_t(in.mesh.shape.size()) - 1});
  if (auto reduce = recorded.find("reduce")) in.reduce = reduce->text();
  if (auto dim = recorded.find("dim")) in.dim = dim->integer();
  if (auto root = recorded.find("root")) in.root = root->integer();
  in.data = read_formula(recorded["tensor"]);
  read_shapes(recorded, in);
  if (auto splits = recorded.find("splits")) {
    for (const CaseField& list : splits->items()) in.splits.push_back(list.integers());
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

// Rows that this member gets: what the members' own lists have for it.
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

bool is_known(const std::string& op) {
  constexpr std::string_view ops[] = {"all_reduce",      "broadcast",        "all_gather",
                                      "all_gather_list", "reduce_scatter",   "scatter",
                                      "all_to_all",      "all_to_all_single"};
  return std::find(std::begin(ops), std::end(ops), op) != std::end(ops);
}

}  // namespace

void verify_collective(const RecordedCase& recorded, const VerifyOptions& options,
                       CaseReport& report) {
  if (!report.expect_known_fields(recorded["mesh"], mesh_fields)) return;
  CollectiveCase in = read_collective_case(recorded);
  if (!is_known(in.op))
    return report.mismatch(fmt::format("the operation '{}' is not known", in.op));
  std::vector<Tensor> before(std::size_t(in.mesh.world)), after(std::size_t(in.mesh.world));
  World world(world_options(options, in.mesh.world));
  std::optional<Error> error = run_case(
      world,
      [&](Rank& rank) {
        Formula data = in.data;
        data.seed += 1 + rank.id();
        before[rank.id()] = formula(in.shapes[rank.id()], data);
        ProcessGroup group = in.group_dim ? process_group(in.mesh.view(rank.id()), *in.group_dim)
                                          : ProcessGroup::world();
        after[rank.id()] = run_op(in, before[rank.id()].clone(), group);
        rank.record(after[rank.id()]);
      },
      report);
  if (auto refusal = recorded.find("error"))
    return report.expect_refusal("a rank", *refusal, error ? &*error : nullptr);
  if (error) return report.mismatch(fmt::format("refused: {}", error->what()));
  for (std::size_t rank = 0; rank < after.size(); ++rank) {
    std::string who = fmt::format("rank {}", rank);
    if (in.before[rank]) expect_bits(report, who + " before", *in.before[rank], before[rank]);
    if (in.after[rank]) expect_bits(report, who + " after", *in.after[rank], after[rank]);
  }
}

}  // namespace simmesh
