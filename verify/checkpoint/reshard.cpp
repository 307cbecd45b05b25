#include <algorithm>

#include "checkpoint/catalog/piece.h"
#include "checkpoint/save_load/load_plan.h"
#include "checkpoint/save_load/save_plan.h"
#include "core/tensor/formula.h"
#include "sharding/placement/local_shape.h"
#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_tensor.h"
#include "verify/checkpoint/case_data.h"
#include "verify/pytorch/case_plan.h"

namespace simmesh {

namespace {

using checkpoint::Box;
using checkpoint::BoxRead;

Schema reshard_schema() {
  using namespace schema;
  Schema layout = object({required("world", world_schema()), required("mesh", mesh_schema()),
                          required("placements", or_null(placements_schema()))});
  Schema chunk = object({expected("offsets", shape_schema()), expected("sizes", shape_schema()),
                         expected("rank", integer({.min = 0}))});
  Schema read = object({expected("chunk", integer({.min = 0})), expected("from", shape_schema()),
                        expected("to", shape_schema()), expected("len", shape_schema())});
  Schema rank = object({expected("shape", shape_schema()), expected("offset", shape_schema()),
                        expected("reads", list(read)), expected("hash", hash())});
  return object({required("dtype", dtype_schema()), required("shape", shape_schema()),
                 required("data", stored_data_schema()), required("save", layout),
                 required("load", layout), expected("chunks", list(chunk)),
                 expected("ranks", list(or_null(rank)))});
}

// Returns the box of each rank of a world; none for a rank outside the mesh.
std::vector<std::optional<Box>> boxes_of(const CaseField& layout, const Shape& shape) {
  CaseMesh mesh = read_fitting_mesh(layout);
  std::vector<std::optional<Box>> boxes(std::size_t(mesh.world));
  if (layout["placements"].is_null()) {
    std::fill(boxes.begin(), boxes.end(), checkpoint::whole(shape));
    return boxes;
  }
  Placements placements = read_placements(layout["placements"]);
  RankList ranks = mesh.rank_list();
  bool is_list = !mesh.ranks || std::int64_t(mesh.ranks->size()) == numel(mesh.shape);
  bool is_inside =
      !mesh.ranks || std::all_of(mesh.ranks->begin(), mesh.ranks->end(),
                                 [&](std::int64_t rank) { return rank >= 0 && rank < mesh.world; });
  if (!is_list || !is_inside)
    layout["mesh"]["ranks"].reject(fmt::format("{} ranks of the world", numel(mesh.shape)));
  if (placements.size() != mesh.shape.size())
    layout["placements"].reject(fmt::format("one for each of {} mesh dims", mesh.shape.size()));
  Dims coordinate(mesh.shape.size(), 0);
  std::int64_t place = 0;
  do {
    LocalShape local =
        compute_local_shape_and_global_offset(shape, mesh.shape, coordinate, placements);
    boxes[std::size_t(ranks[place++])] = Box{local.offset, local.shape};
  } while (next_index(coordinate, mesh.shape));
  return boxes;
}

// A part that a rank writes, in the order of the metadata.
struct WrittenBox {
  Box box;
  std::int64_t rank;
};

std::vector<WrittenBox> written_boxes(const std::vector<std::optional<Box>>& boxes,
                                      std::int64_t tensor_bytes) {
  std::vector<std::vector<checkpoint::SaveItem>> items(boxes.size());
  for (std::size_t rank = 0; rank < boxes.size(); ++rank)
    if (boxes[rank])
      items[rank].push_back({"tensor", *boxes[rank], std::max<std::int64_t>(tensor_bytes, 1)});
  checkpoint::SavePlan plan = checkpoint::plan_save(items);
  std::vector<WrittenBox> written;
  for (std::size_t rank = 0; rank < boxes.size(); ++rank)
    for (std::size_t item : plan.items[rank])
      written.push_back({items[rank][item].box, std::int64_t(rank)});
  return written;
}

Tensor loaded(const Box& wanted, const std::vector<BoxRead>& reads,
              const std::vector<Tensor>& chunks, DType dtype) {
  Tensor result = zeros(wanted.sizes, dtype);
  std::size_t width = bytes_per_element(dtype);
  for (const BoxRead& read : reads) {
    const Tensor& chunk = chunks[read.chunk];
    auto first = [&](const Tensor& tensor, const Dims& index) {
      return std::size_t(checkpoint::element_offset(index, tensor.strides())) * width;
    };
    checkpoint::copy_box({.sizes = read.sizes,
                          .element_bytes = width,
                          .from_strides = chunk.strides(),
                          .to_strides = result.strides()},
                         chunk.data() + first(chunk, read.from),
                         result.mutable_data() + first(result, read.to));
  }
  return result;
}

void compare_reads(const std::string& who, const CaseField& field,
                   const std::vector<BoxRead>& reads, CaseReport& report) {
  std::vector<CaseField> entries = field.items();
  if (!report.expect_equal(who + "number of reads", entries.size(), reads.size())) return;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    std::string read = fmt::format("{}read {}: ", who, i);
    report.expect_equal(read + "chunk", entries[i]["chunk"].integer(),
                        std::int64_t(reads[i].chunk));
    report.expect_equal(read + "from", entries[i]["from"].dims(), reads[i].from);
    report.expect_equal(read + "to", entries[i]["to"].dims(), reads[i].to);
    report.expect_equal(read + "len", entries[i]["len"].dims(), reads[i].sizes);
  }
}

void verify_reshard(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  Shape shape = recorded["shape"].shape();
  DType dtype = dtype_from_string(recorded["dtype"].text());
  std::vector<std::byte> data =
      stored_data(recorded["data"], checkpoint::stored_dtype(dtype), recorded["shape"]);
  Tensor whole = zeros(shape, dtype);
  std::copy(data.begin(), data.end(), whole.mutable_data());

  std::vector<WrittenBox> written =
      written_boxes(boxes_of(recorded["save"], shape), std::int64_t(data.size()));
  std::vector<CaseField> chunks = recorded["chunks"].items();
  if (!report.expect_equal("number of chunks", chunks.size(), written.size())) return;
  std::vector<Box> stored;
  std::vector<Tensor> contents;
  for (std::size_t i = 0; i < written.size(); ++i) {
    std::string who = fmt::format("chunk {}: ", i);
    report.expect_equal(who + "offsets", chunks[i]["offsets"].dims(), written[i].box.offsets);
    report.expect_equal(who + "sizes", chunks[i]["sizes"].dims(), written[i].box.sizes);
    report.expect_equal(who + "rank", chunks[i]["rank"].integer(), written[i].rank);
    stored.push_back(written[i].box);
    contents.push_back(checkpoint::part_of(whole, written[i].box).clone());
  }

  std::vector<std::optional<Box>> wanted = boxes_of(recorded["load"], shape);
  std::vector<CaseField> ranks = recorded["ranks"].items();
  if (!report.expect_equal("number of ranks", ranks.size(), wanted.size())) return;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::string who = fmt::format("rank {}: ", rank);
    if (!report.expect_equal(who + "is in the mesh", !ranks[rank].is_null(),
                             wanted[rank].has_value()) ||
        !wanted[rank])
      continue;
    report.expect_equal(who + "shape", ranks[rank]["shape"].shape(), wanted[rank]->sizes);
    report.expect_equal(who + "offset", ranks[rank]["offset"].dims(), wanted[rank]->offsets);
    std::vector<BoxRead> reads = checkpoint::plan_reads(*wanted[rank], stored);
    compare_reads(who, ranks[rank]["reads"], reads, report);
    report.expect_equal(who + "hash", ranks[rank]["hash"].text(),
                        bits_text(loaded(*wanted[rank], reads, contents, dtype)));
  }
}

const CaseKind reshard_kind(
    {.name = "reshard",
     .summary = "who stores which box of a tensor, and what each rank reads under another layout",
     .schema = reshard_schema,
     .verifier = verify_reshard});

}  // namespace

}  // namespace simmesh
