#include <algorithm>
#include <fmt/ranges.h>

#include "core/tensor/convert.h"
#include "core/tensor/flat.h"
#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_tensor.h"
#include "zero/stage12/flat_layout.h"
#include "zero/stage3/shard_layout.h"

namespace simmesh {

namespace {

constexpr std::int64_t layout_ranks_max = 4096;

Schema layout_group_schema() {
  using namespace schema;
  Schema count = integer({.min = 0});
  return object({expected("order", list(text())), expected("offsets", list(count)),
                 expected("flat_numel", count), expected("slice_numel", count),
                 expected("flat_hash", hash()), expected("padding", list(count)),
                 expected("slice_hash", list(hash())), expected("master_hash", list(hash())),
                 expected("pieces", list(list(tuple({text(), count, count, count}))))});
}

Schema layout_shard_schema() {
  using namespace schema;
  Schema count = integer({.min = 0});
  return object({expected("param", text()), expected("numel", count),
                 expected("shard_numel", count), expected("padded_numel", count),
                 expected("ranges", list(tuple({count, count}))), expected("hash", list(hash()))});
}

Schema zero_layout_schema() {
  using namespace schema;
  Schema index = integer({.min = 0, .max = 1 << 20});
  Schema tile = object({expected("params", list(text())), expected("numel", integer({.min = 0}))});
  Schema expect = object_of(
      {{"groups", {expected("groups", list(layout_group_schema()))}},
       {"params",
        {expected("params", list(layout_shard_schema())), expected("tiles", list(tile))}}});
  return object({required("world", integer({.min = 1, .max = layout_ranks_max})),
                 required("stage", integer({.min = 1, .max = 3})),
                 required("dtype", dtype_schema()),
                 required("shapes", list(shape_schema(), {.min = 1})), required("seed", seed()),
                 required("rule", word({"small", "unit", "wide", "positive"})),
                 required("frozen", list(index)), required("groups", list(list(index))),
                 required("zero", object({optional("round_robin_gradients", flag()),
                                          optional("parameter_alignment", flag()),
                                          optional("sub_group_size", integer({.min = 0}))})),
                 expected("expect", expect)});
}

// LayoutCase is what a case describes: parameters by formula, and the groups of the optimiser.
struct LayoutCase {
  std::int64_t ranks = 1;
  DType dtype = DType::float32;
  std::vector<Tensor> parameters;
  std::vector<std::vector<std::size_t>> groups;
  bool round_robin = false;
  bool is_aligned = false;
  std::int64_t sub_group_size = 1'000'000'000;

  std::int64_t numel(std::size_t parameter) const { return parameters[parameter].numel(); }
  static std::string name(std::size_t parameter) { return fmt::format("p{}", parameter); }
};

void read_groups(const RecordedCase& recorded, LayoutCase& layout) {
  std::vector<int> uses(layout.parameters.size(), 0);
  auto use = [&](const CaseField& index) {
    std::int64_t i = index.integer();
    if (i >= std::int64_t(uses.size()) || uses[std::size_t(i)]++ > 0)
      index.reject("the index of a parameter that is in no other group and not frozen");
    return std::size_t(i);
  };
  for (const CaseField& index : recorded["frozen"].items()) use(index);
  for (const CaseField& group : recorded["groups"].items()) {
    layout.groups.emplace_back();
    for (const CaseField& index : group.items()) layout.groups.back().push_back(use(index));
  }
}

LayoutCase read_layout_case(const RecordedCase& recorded) {
  LayoutCase layout;
  layout.ranks = recorded["world"].integer();
  layout.dtype = dtype_from_string(recorded["dtype"].text());
  Formula data{.rule = rule_from_string(recorded["rule"].text()),
               .seed = recorded["seed"].unsigned64(),
               .dtype = layout.dtype};
  std::int64_t elements = 0;
  for (const CaseField& field : recorded["shapes"].items()) {
    Shape shape = field.shape();
    require_elements(field, shape, 1);
    elements += numel(shape);
    if (elements > case_elements_max) field.reject("fewer elements in all shapes together");
    layout.parameters.push_back(formula(shape, data));
    ++data.seed;
  }
  read_groups(recorded, layout);
  CaseField zero = recorded["zero"];
  if (auto given = zero.find("round_robin_gradients")) layout.round_robin = given->boolean();
  if (auto given = zero.find("parameter_alignment")) layout.is_aligned = given->boolean();
  if (auto given = zero.find("sub_group_size")) layout.sub_group_size = given->integer();
  return layout;
}

Tensor part_of(const Tensor& flat, std::int64_t start, std::int64_t length) {
  return flat.narrow({.dim = 0, .start = start, .length = length});
}

// GroupCheck compares the flat buffer of one group.
class GroupCheck {
 public:
  GroupCheck(const LayoutCase& layout, const std::vector<std::size_t>& group, CaseReport& report)
      : case_(layout), group_(group), layout_(sizes(), options()), report_(report) {
    flat_ = zeros({layout_.flat_numel()}, case_.dtype);
    for (std::size_t i = 0; i < group_.size(); ++i) {
      Tensor place = part_of(flat_, layout_.offset(i), layout_.size(i));
      copy_(place, case_.parameters[group_[i]].view(Dims{layout_.size(i)}));
    }
  }

  void expect(const CaseField& expected) {
    std::vector<std::string> order;
    std::vector<std::int64_t> offsets;
    for (std::size_t i : layout_.order()) {
      order.push_back(LayoutCase::name(group_[i]));
      offsets.push_back(layout_.offset(i));
    }
    report_.expect_equal("order", expected["order"].texts(), order);
    report_.expect_equal("offsets", expected["offsets"].integers(), offsets);
    report_.expect_equal("flat_numel", expected["flat_numel"].integer(), layout_.flat_numel());
    report_.expect_equal("slice_numel", expected["slice_numel"].integer(), layout_.slice_numel());
    report_.expect_equal("flat_hash", expected["flat_hash"].text(), bits_text(flat_));
    expect_slices(expected);
  }

 private:
  std::vector<std::int64_t> sizes() const {
    std::vector<std::int64_t> sizes;
    for (std::size_t parameter : group_) sizes.push_back(case_.numel(parameter));
    return sizes;
  }

  zero::FlatOptions options() const {
    std::int64_t alignment =
        case_.is_aligned ? 16 / std::int64_t(bytes_per_element(case_.dtype)) : 1;
    return {.ranks = case_.ranks, .round_robin = case_.round_robin, .alignment = alignment};
  }

  void expect_slices(const CaseField& expected) {
    std::vector<std::int64_t> padding;
    std::vector<std::string> slices, masters;
    using Piece = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;
    std::vector<std::vector<Piece>> pieces, wanted;
    for (std::int64_t rank = 0; rank < case_.ranks; ++rank) {
      padding.push_back(layout_.padding(rank));
      Tensor slice = part_of(flat_, rank * layout_.slice_numel(), layout_.slice_numel());
      slices.push_back(bits_text(slice));
      masters.push_back(bits_text(converted(slice, DType::float32)));
      pieces.emplace_back();
      for (const zero::FlatPiece& piece : layout_.pieces(rank))
        pieces.back().emplace_back(LayoutCase::name(group_[piece.parameter]), piece.first,
                                   piece.count, piece.position);
    }
    for (const CaseField& rank : expected["pieces"].items()) {
      wanted.emplace_back();
      for (const CaseField& piece : rank.items()) {
        std::vector<CaseField> entries = piece.items();
        wanted.back().emplace_back(entries[0].text(), entries[1].integer(), entries[2].integer(),
                                   entries[3].integer());
      }
    }
    report_.expect_equal("padding", expected["padding"].integers(), padding);
    report_.expect_equal("slice_hash", expected["slice_hash"].texts(), slices);
    report_.expect_equal("master_hash", expected["master_hash"].texts(), masters);
    report_.expect_equal("pieces", wanted, pieces);
  }

  const LayoutCase& case_;
  const std::vector<std::size_t>& group_;
  zero::FlatLayout layout_;
  CaseReport& report_;
  Tensor flat_;
};

void expect_shard(const LayoutCase& layout, std::size_t parameter, const CaseField& expected,
                  CaseReport& report) {
  zero::ShardLayout shard{.numel = layout.numel(parameter), .ranks = layout.ranks};
  std::string name = LayoutCase::name(parameter);
  report.expect_equal("param", expected["param"].text(), name);
  report.expect_equal(name + ": numel", expected["numel"].integer(), shard.numel);
  report.expect_equal(name + ": shard_numel", expected["shard_numel"].integer(),
                      shard.shard_numel());
  report.expect_equal(name + ": padded_numel", expected["padded_numel"].integer(),
                      shard.padded_numel());
  std::vector<std::vector<std::int64_t>> ranges, wanted;
  std::vector<std::string> hashes;
  Tensor flat = layout.parameters[parameter].view(Dims{shard.numel});
  for (std::int64_t rank = 0; rank < layout.ranks; ++rank) {
    ranges.push_back({shard.begin(rank), shard.end(rank)});
    hashes.push_back(
        bits_text(part_of(flat, shard.begin(rank), shard.end(rank) - shard.begin(rank))));
  }
  for (const CaseField& range : expected["ranges"].items()) wanted.push_back(range.integers());
  report.expect_equal(name + ": ranges", wanted, ranges);
  report.expect_equal(name + ": hash", expected["hash"].texts(), hashes);
}

void expect_tiles(const LayoutCase& layout, const CaseField& expected, CaseReport& report) {
  std::vector<std::int64_t> shard_numels;
  for (std::size_t i = 0; i < layout.parameters.size(); ++i)
    shard_numels.push_back(
        zero::ShardLayout{.numel = layout.numel(i), .ranks = layout.ranks}.shard_numel());
  std::vector<zero::Tile> tiles =
      zero::optimizer_tiles(layout.groups, shard_numels, layout.sub_group_size);
  std::vector<CaseField> entries = expected.items();
  if (!report.expect_equal("number of tiles", entries.size(), tiles.size())) return;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    std::vector<std::string> names;
    for (std::size_t parameter : tiles[i].parameters) names.push_back(LayoutCase::name(parameter));
    std::string who = fmt::format("tile {}: ", i);
    report.expect_equal(who + "params", entries[i]["params"].texts(), names);
    report.expect_equal(who + "numel", entries[i]["numel"].integer(), tiles[i].numel);
  }
}

void verify_zero_layout(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  LayoutCase layout = read_layout_case(recorded);
  CaseField expect = recorded["expect"];
  bool is_sharded = recorded["stage"].integer() == 3;
  if (expect.has("params") != is_sharded) expect.reject("params in stage 3, groups in the others");
  if (is_sharded) {
    std::vector<CaseField> entries = expect["params"].items();
    if (!report.expect_equal("number of params", entries.size(), layout.parameters.size())) return;
    for (std::size_t i = 0; i < entries.size(); ++i) expect_shard(layout, i, entries[i], report);
    return expect_tiles(layout, expect["tiles"], report);
  }
  std::vector<CaseField> entries = expect["groups"].items();
  if (!report.expect_equal("number of groups", entries.size(), layout.groups.size())) return;
  for (std::size_t i = 0; i < entries.size(); ++i)
    GroupCheck(layout, layout.groups[i], report).expect(entries[i]);
}

const CaseKind zero_layout_kind(
    {.name = "zero_layout",
     .summary = "flat slices of stages 1 and 2, shards and tiles of stage 3, on every rank",
     .schema = zero_layout_schema,
     .verifier = verify_zero_layout});

}  // namespace

}  // namespace simmesh
