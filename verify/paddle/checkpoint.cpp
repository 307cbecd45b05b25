#include <algorithm>
#include <map>

#include "checkpoint/catalog/piece.h"
#include "checkpoint/paddle/flex_plan.h"
#include "checkpoint/paddle/local_box.h"
#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_tensor.h"
#include "verify/paddle/flex_exchange.h"
#include "verify/pytorch/case_plan.h"

namespace simmesh {

namespace {

using checkpoint::FlexRead;
using checkpoint::FlexShard;
using checkpoint::FlexStorage;
using ShardsOfRanks = std::vector<std::vector<FlexShard>>;

Schema paddle_checkpoint_schema() {
  using namespace schema;
  Schema count = integer({.min = 0});
  Schema range = tuple({count, count});
  Schema layout = either({list(text()), object({required("ranges", list(range))})});
  Schema tensor =
      formula_schema({required("shape", shape_schema()), required("dtype", dtype_schema()),
                      required("from", layout), required("to", layout),
                      optional("from_mesh", mesh_schema()), optional("to_mesh", mesh_schema())});
  Schema bits = object({expected("shape", shape_schema()), expected("hash", hash())});
  Schema entry =
      object({expected("offset", shape_schema()), expected("shape", shape_schema()),
              expected("dtype", dtype_schema()), expected("global_shape", shape_schema()),
              expected("flat_range", range).or_absent()});
  Schema place =
      object({expected("key", text()), expected("offset", shape_schema()),
              expected("shape", shape_schema()), expected("file", text()),
              expected("replica", count).or_absent(), expected("flat_range", range).or_absent()});
  Schema item = object(
      {expected("key", text()), expected("src_rank", count), expected("dst_ranks", list(count)),
       expected("file", text()), expected("src_offset", shape_schema()),
       expected("src_start", shape_schema()), expected("dst_start", shape_schema()),
       expected("shape", shape_schema()), expected("dst_offset", shape_schema())});
  return object({required("world", world_schema()), required("mesh", mesh_schema()),
                 required("tensors", map(tensor)),
                 optional("save_options", object({optional("save_replicas", flag())})),
                 expected("files", list(text())), expected("contents", map(map(bits))),
                 expected("state", map(list(entry))), expected("storage", list(place)),
                 expected("names", map(list(text()))), expected("local", flag()),
                 expected("reads", list(or_null(list(text())))),
                 expected("read_items", list(list(item))), expected("after", list(map(bits))),
                 label("oracle", yes())});
}

std::string file_of(std::size_t rank) { return fmt::format("{}_0.distcp", rank); }

// The case's tensors, in the order of the state dict, with each rank's part before and after.
struct FlexCase {
  std::vector<std::string> names;
  std::map<std::string, Tensor> whole;
  std::map<std::string, DType> dtypes;
  ShardsOfRanks saved, wanted;
};

void add_shards(const RecordedCase& recorded, const std::string& name, const CaseField& tensor,
                std::string_view side, ShardsOfRanks& shards) {
  Shape shape = tensor["shape"].shape();
  CaseField layout = tensor[side];
  if (layout.is_object()) {
    std::vector<CaseField> ranges = layout["ranges"].items();
    if (ranges.size() != shards.size()) layout.reject("one range a rank");
    for (std::size_t rank = 0; rank < ranges.size(); ++rank) {
      std::vector<std::int64_t> ends = ranges[rank].integers();
      if (ends[0] > ends[1] || ends[1] > numel(shape))
        ranges[rank].reject("a range of the tensor's elements");
      shards[rank].push_back({name, shape, checkpoint::whole(shape), {{ends[0], ends[1]}}});
    }
    return;
  }
  std::string own_mesh = std::string(side) + "_mesh";
  CaseMesh mesh = tensor.has(own_mesh) ? read_mesh_at(tensor, own_mesh) : read_mesh(recorded);
  RankList ranks = mesh.rank_list();
  if (mesh.ranks && std::int64_t(mesh.ranks->size()) != numel(mesh.shape))
    layout.reject(fmt::format("a mesh of {} ranks", numel(mesh.shape)));
  Placements placements = read_placements(layout);
  Dims coordinate(mesh.shape.size(), 0);
  std::int64_t place = 0;
  do {
    auto rank = std::size_t(ranks[place++]);
    if (rank >= shards.size()) layout.reject("a mesh within the world");
    shards[rank].push_back(
        {name, shape, checkpoint::paddle_local_box(shape, mesh.shape, coordinate, placements), {}});
  } while (next_index(coordinate, mesh.shape));
}

FlexCase read_flex_case(const RecordedCase& recorded) {
  FlexCase read;
  auto world = std::size_t(recorded["world"].integer());
  read.saved.resize(world);
  read.wanted.resize(world);
  CaseField tensors = recorded["tensors"];
  read.names = recorded.keys_in_order("tensors");
  for (const std::string& name : read.names) {
    CaseField tensor = tensors[name];
    require_elements(tensor, tensor["shape"].shape(), std::int64_t(world));
    read.whole[name] = formula(tensor["shape"].shape(), read_formula(tensor));
    read.dtypes[name] = read.whole[name].dtype();
    add_shards(recorded, name, tensor, "from", read.saved);
    add_shards(recorded, name, tensor, "to", read.wanted);
  }
  return read;
}

// Returns a shard's part of a whole tensor.
Tensor piece_of(const Tensor& whole, const FlexShard& shard) {
  if (shard.range)
    return whole.view(Shape{whole.numel()})
        .narrow({0, shard.range->begin, shard.range->numel()})
        .clone();
  return checkpoint::part_of(whole, shard.box).clone();
}

void compare_bits(const std::string& what, const CaseField& bits, const Tensor& tensor,
                  CaseReport& report) {
  report.expect_equal(what + ": shape", bits["shape"].shape(), tensor.shape());
  report.expect_equal(what + ": hash", bits["hash"].text(), bits_text(tensor));
}

void compare_range(const std::string& what, const CaseField& entry, const FlexShard& shard,
                   CaseReport& report) {
  auto field = entry.find("flat_range");
  if (!report.expect_equal(what + ": has a range", field.has_value(), shard.range.has_value()) ||
      !field)
    return;
  report.expect_equal(what + ": flat_range", field->integers(),
                      std::vector<std::int64_t>{shard.range->begin, shard.range->end});
}

void compare_state(const RecordedCase& recorded, const FlexCase& flex,
                   const std::vector<FlexStorage>& storage, bool save_replicas,
                   CaseReport& report) {
  for (const std::string& name : flex.names) {
    std::vector<const FlexShard*> shards;
    for (const auto& of_rank : flex.saved)
      for (const FlexShard& shard : of_rank)
        if (shard.key == name &&
            std::none_of(shards.begin(), shards.end(),
                         [&](const FlexShard* other) { return *other == shard; }))
          shards.push_back(&shard);
    std::vector<CaseField> entries = recorded["state"][name].items();
    if (!report.expect_equal(name + ": number of shards", entries.size(), shards.size())) continue;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      std::string who = fmt::format("{}: shard {}", name, i);
      report.expect_equal(who + ": offset", entries[i]["offset"].dims(), shards[i]->box.offsets);
      report.expect_equal(who + ": shape", entries[i]["shape"].dims(), shards[i]->box.sizes);
      report.expect_equal(who + ": dtype", entries[i]["dtype"].text(),
                          std::string(to_string(flex.dtypes.at(name))));
      report.expect_equal(who + ": global_shape", entries[i]["global_shape"].dims(),
                          shards[i]->global_shape);
      compare_range(who, entries[i], *shards[i], report);
    }
  }
  std::vector<CaseField> places = recorded["storage"].items();
  if (!report.expect_equal("number of stored shards", places.size(), storage.size())) return;
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::string who = fmt::format("stored shard {}", i);
    report.expect_equal(who + ": key", places[i]["key"].text(), storage[i].shard.key);
    report.expect_equal(who + ": offset", places[i]["offset"].dims(), storage[i].shard.box.offsets);
    report.expect_equal(who + ": shape", places[i]["shape"].dims(), storage[i].shard.box.sizes);
    report.expect_equal(who + ": file", places[i]["file"].text(), file_of(storage[i].rank));
    auto replica = places[i].find("replica");
    if (report.expect_equal(who + ": has a replica", replica.has_value(), save_replicas) && replica)
      report.expect_equal(who + ": replica", replica->integer(), std::int64_t(storage[i].replica));
    compare_range(who, places[i], storage[i].shard, report);
  }
}

void compare_contents(const RecordedCase& recorded, const FlexCase& flex,
                      const std::vector<FlexStorage>& storage, CaseReport& report) {
  std::vector<std::string> files = {"0.metadata"};
  for (std::size_t rank = 0; rank < flex.saved.size(); ++rank) files.push_back(file_of(rank));
  std::sort(files.begin(), files.end());
  report.expect_equal("files", recorded["files"].texts(), files);
  CaseField contents = recorded["contents"];
  std::vector<std::string> with_contents = contents.keys();
  with_contents.push_back("0.metadata");
  std::sort(with_contents.begin(), with_contents.end());
  report.expect_equal("files with contents", with_contents, files);
  std::size_t listed = 0;
  for (const std::string& file : contents.keys()) listed += contents[file].size();
  report.expect_equal("entries of all files", listed, storage.size());
  for (const FlexStorage& stored : storage) {
    auto file = contents.find(file_of(stored.rank));
    auto entry = file ? file->find(stored.shard.key) : std::nullopt;
    std::string who = file_of(stored.rank) + ": " + stored.shard.key;
    if (!entry)
      report.mismatch(who + ": not expected there");
    else
      compare_bits(who, *entry, piece_of(flex.whole.at(stored.shard.key), stored.shard), report);
  }
}

void compare_items(const std::string& who, const std::vector<CaseField>& expected,
                   const std::vector<FlexItem>& items, CaseReport& report) {
  if (!report.expect_equal(who + "number of items", expected.size(), items.size())) return;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const CaseField& field = expected[i];
    const FlexItem& item = items[i];
    std::string of_item = fmt::format("{}item {}: ", who, i);
    report.expect_equal(of_item + "key", field["key"].text(), item.key);
    report.expect_equal(of_item + "src_rank", field["src_rank"].integer(),
                        std::int64_t(item.reader));
    report.expect_equal(of_item + "dst_ranks", field["dst_ranks"].integers(),
                        std::vector<std::int64_t>{std::int64_t(item.rank)});
    report.expect_equal(of_item + "file", field["file"].text(), file_of(item.file));
    report.expect_equal(of_item + "src_offset", field["src_offset"].dims(), item.stored_offset);
    report.expect_equal(of_item + "src_start", field["src_start"].dims(), item.from);
    report.expect_equal(of_item + "dst_start", field["dst_start"].dims(), item.to);
    report.expect_equal(of_item + "shape", field["shape"].dims(), item.sizes);
    report.expect_equal(of_item + "dst_offset", field["dst_offset"].dims(), item.wanted_offset);
  }
}

// Compares the copies of each exchange of a load.
void compare_exchanges(const RecordedCase& recorded,
                       const std::vector<std::vector<FlexItem>>& exchanges, CaseReport& report) {
  std::vector<CaseField> expected = recorded["read_items"].items();
  if (!report.expect_equal("exchanges", expected.size(), exchanges.size())) return;
  for (std::size_t i = 0; i < exchanges.size(); ++i)
    compare_items(fmt::format("exchange {}: ", i), expected[i].items(), exchanges[i], report);
}

// Each tensor of a flat state dict is known by its own name.
void compare_names(const RecordedCase& recorded, const FlexCase& flex, CaseReport& report) {
  CaseField names = recorded["names"];
  report.expect_equal("number of names", names.size(), flex.names.size());
  for (const std::string& name : flex.names) {
    auto path = names.find(name);
    if (!path) return report.mismatch("no name " + name);
    report.expect_equal("the path of " + name, path->texts(), std::vector<std::string>{name});
  }
}

std::size_t byte_at(const Tensor& tensor, const Dims& index) {
  return std::size_t(checkpoint::element_offset(index, tensor.strides())) *
         bytes_per_element(tensor.dtype());
}

void compare_loaded(const RecordedCase& recorded, const FlexCase& flex,
                    const std::vector<FlexStorage>& storage, const std::vector<FlexRead>& reads,
                    CaseReport& report) {
  std::vector<CaseField> after = recorded["after"].items();
  if (!report.expect_equal("number of ranks", after.size(), flex.wanted.size())) return;
  std::vector<std::vector<Tensor>> loaded(flex.wanted.size());
  for (std::size_t rank = 0; rank < flex.wanted.size(); ++rank)
    for (const FlexShard& shard : flex.wanted[rank])
      loaded[rank].push_back(zeros(shard.local_shape(), flex.dtypes.at(shard.key)));
  for (const FlexRead& read : reads) {
    const FlexShard& from = storage[read.storage].shard;
    Tensor source = piece_of(flex.whole.at(from.key), from);
    Tensor& target = loaded[read.rank][read.shard];
    auto strides = [&](const Tensor& tensor, const FlexShard& shard) {
      return shard.range ? contiguous_strides(read.sizes) : tensor.strides();
    };
    checkpoint::copy_box({.sizes = read.sizes,
                          .element_bytes = bytes_per_element(source.dtype()),
                          .from_strides = strides(source, from),
                          .to_strides = strides(target, flex.wanted[read.rank][read.shard])},
                         source.data() + byte_at(source, read.from),
                         target.mutable_data() + byte_at(target, read.to));
  }
  for (std::size_t rank = 0; rank < after.size(); ++rank) {
    report.expect_equal(fmt::format("rank {}: tensors", rank), after[rank].size(),
                        loaded[rank].size());
    for (std::size_t i = 0; i < loaded[rank].size(); ++i) {
      const std::string& key = flex.wanted[rank][i].key;
      if (auto bits = after[rank].find(key))
        compare_bits(fmt::format("rank {}: {}", rank, key), *bits, loaded[rank][i], report);
      else
        report.mismatch(fmt::format("rank {}: {} is not expected there", rank, key));
    }
  }
}

void verify_paddle_checkpoint(const RecordedCase& recorded, const VerifyOptions&,
                              CaseReport& report) {
  FlexCase flex = read_flex_case(recorded);
  bool save_replicas = false;
  if (auto options = recorded.find("save_options"))
    if (auto flag = options->find("save_replicas")) save_replicas = flag->boolean();
  std::vector<FlexStorage> storage = checkpoint::plan_flex_save(flex.saved, save_replicas);
  compare_contents(recorded, flex, storage, report);
  compare_state(recorded, flex, storage, save_replicas, report);
  compare_names(recorded, flex, report);

  checkpoint::FlexLoadPlan plan = checkpoint::plan_flex_load(storage, flex.wanted);
  report.expect_equal("local", recorded["local"].boolean(), plan.is_local);
  if (plan.is_local) {
    compare_exchanges(recorded, {}, report);
  } else {
    std::vector<CaseField> readers = recorded["reads"].items();
    if (report.expect_equal("number of readers", readers.size(), plan.files.size()))
      for (std::size_t rank = 0; rank < readers.size(); ++rank) {
        std::vector<std::string> files;
        for (std::size_t file : plan.files[rank]) files.push_back(file_of(file));
        report.expect_equal(fmt::format("rank {}: files", rank), readers[rank].texts(), files);
      }
    compare_exchanges(recorded, flex_exchanges(storage, flex.wanted, plan), report);
  }
  compare_loaded(recorded, flex, storage, plan.reads, report);
}

const CaseKind paddle_checkpoint_kind(
    {.name = "paddle_checkpoint",
     .summary = "a save under one layout and a load under another: files, plan and bits",
     .schema = paddle_checkpoint_schema,
     .verifier = verify_paddle_checkpoint});

}  // namespace

}  // namespace simmesh
