#include <algorithm>
#include <nlohmann/json.hpp>

#include "checkpoint/dcp/dcp_checkpoint.h"
#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/format/formats.h"
#include "checkpoint/hugging_face/hugging_face.h"
#include "checkpoint/read/read_tensor.h"
#include "checkpoint/safetensors/safetensors_file.h"
#include "sharding/placement/local_shape.h"
#include "verify/case_bits.h"
#include "verify/case_json.h"
#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_tensor.h"
#include "verify/checkpoint/case_data.h"
#include "verify/pytorch/case_plan.h"

namespace simmesh {

namespace {

using checkpoint::Catalog;
using checkpoint::OpenCheckpoint;
using checkpoint::StoredChunk;
using checkpoint::StoredTensor;

constexpr std::int64_t metadata_bytes_max = std::int64_t{1} << 30;

Schema dcp_tensor_schema(schema::Fields of_chunk, schema::Fields further = {}) {
  using namespace schema;
  schema::Fields fields = {expected("fqn", text()),
                           expected("dtype", dtype_schema()),
                           expected("shape", shape_schema()),
                           required("placements", or_null(placements_schema())),
                           required("data", stored_data_schema()),
                           expected("hash", hash()),
                           expected("chunks", list(object(std::move(of_chunk))))};
  fields.insert(fields.end(), further.begin(), further.end());
  return object(std::move(fields));
}

Schema dcp_native_schema() {
  using namespace schema;
  Schema count = integer({.min = 0});
  Schema tensor =
      dcp_tensor_schema({expected("offsets", shape_schema()), expected("sizes", shape_schema()),
                         expected("index", count), expected("file", text()),
                         expected("offset", count), expected("length", count),
                         expected("data_at", count).because("in an empty chunk no byte lies there"),
                         expected("data_len", count)});
  Schema value =
      object({required("fqn", text()), expected("path", list(any())), expected("value", any()),
              expected("file", text()), expected("offset", count), expected("length", count)});
  Schema writer =
      object({required("form", word({"native"})), required("threads", integer({.min = 1})),
              required("single_file", flag())});
  return object({required("dir", text()), required("world", world_schema()),
                 required("mesh", mesh_schema()), label("writer", writer),
                 required("tensors", list(tensor)), expected("objects", list(value)),
                 expected("paths", map(list(any()))), expected("version", text())});
}

DType tensor_case_dtype(const CaseField& field) { return dtype_from_string(field["dtype"].text()); }

// ReadDcp is a checkpoint of a case that was read, and the report of what differs in it.
struct ReadDcp {
  const checkpoint::Store& store;
  OpenCheckpoint opened;
  CaseReport& report;

  std::vector<std::byte> bytes_of(const StoredTensor& tensor, const StoredChunk& chunk) const {
    return checkpoint::read_chunk(store, opened, tensor, chunk);
  }
  std::string path_of(const StoredChunk& chunk) const {
    return checkpoint::joined(opened.folder, chunk.file);
  }
};

// Compares dtype, shape and all elements, which come from the chunks.
void compare_tensor(const ReadDcp& read, const CaseField& field, const StoredTensor& tensor) {
  const std::string& name = tensor.name;
  read.report.expect_equal(name + ": dtype", field["dtype"].text(),
                           std::string(dtype_name(tensor.dtype)));
  read.report.expect_equal(name + ": shape", field["shape"].shape(), tensor.shape);
  std::vector<std::byte> bytes = checkpoint::read_tensor(read.store, read.opened, tensor);
  read.report.expect_equal(name + ": hash", field["hash"].text(), bits_text(bytes));
  if (stored_data(field["data"], checkpoint::stored_dtype(tensor_case_dtype(field)),
                  field["shape"]) != bytes)
    read.report.mismatch(name + ": the elements differ from the formula's");
}

// Returns the boxes that the ranks of the mesh hold of a tensor, each once.
std::vector<checkpoint::Box> boxes_of(const RecordedCase& recorded, const CaseField& field) {
  Shape shape = field["shape"].shape();
  CaseField layout = field["placements"];
  if (layout.is_null()) return {checkpoint::whole(shape)};
  CaseMesh mesh = read_fitting_mesh(recorded.root());
  Placements placements = read_placements(layout);
  if (placements.size() != mesh.shape.size())
    layout.reject(fmt::format("one for each of {} mesh dims", mesh.shape.size()));
  std::vector<checkpoint::Box> boxes;
  Dims coordinate(mesh.shape.size(), 0);
  do {
    LocalShape local =
        compute_local_shape_and_global_offset(shape, mesh.shape, coordinate, placements);
    checkpoint::Box box{local.offset, local.shape};
    if (std::find(boxes.begin(), boxes.end(), box) == boxes.end()) boxes.push_back(box);
  } while (next_index(coordinate, mesh.shape));
  return boxes;
}

// The chunks are those boxes, in any order.
void compare_layout(CaseReport& report, const std::vector<checkpoint::Box>& boxes,
                    const StoredTensor& tensor) {
  auto sorted = [](const std::vector<checkpoint::Box>& list) {
    std::vector<std::string> texts;
    for (const checkpoint::Box& box : list)
      texts.push_back(fmt::format("{} at {}", to_string(box.sizes), to_string(box.offsets)));
    std::sort(texts.begin(), texts.end());
    return texts;
  };
  std::vector<checkpoint::Box> chunks;
  for (const StoredChunk& chunk : tensor.chunks) chunks.push_back(chunk.box);
  report.expect_equal(tensor.name + ": chunks by placements", sorted(boxes), sorted(chunks));
}

// Compares each recorded tensor with the one that was read, and calls compare_chunk(tensor, i,
// who, field) for each of its chunks. It calls compare_further(field) for each tensor whose number
// of chunks is right.
template <class CompareChunk, class CompareFurther>
void compare_tensors(const ReadDcp& read, const RecordedCase& recorded,
                     const CompareChunk& compare_chunk, const CompareFurther& compare_further) {
  const Catalog& catalog = read.opened.catalog;
  std::vector<CaseField> tensors = recorded["tensors"].items();
  read.report.expect_equal("number of tensors", tensors.size(), catalog.tensors.size());
  for (const CaseField& field : tensors) {
    const StoredTensor* tensor = catalog.find(field["fqn"].text());
    if (tensor == nullptr) {
      read.report.mismatch("no tensor " + field["fqn"].text());
      continue;
    }
    compare_tensor(read, field, *tensor);
    compare_layout(read.report, boxes_of(recorded, field), *tensor);
    std::vector<CaseField> chunks = field["chunks"].items();
    if (!read.report.expect_equal(tensor->name + ": number of chunks", chunks.size(),
                                  tensor->chunks.size()))
      continue;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      std::string who = fmt::format("{}: chunk {}: ", tensor->name, i);
      read.report.expect_equal(who + "offsets", chunks[i]["offsets"].dims(),
                               tensor->chunks[i].box.offsets);
      compare_chunk(*tensor, i, who, chunks[i]);
    }
    compare_further(field);
  }
}

// The bytes at data_at must be those that the reader found.
void compare_place(const ReadDcp& read, const StoredTensor& tensor, const StoredChunk& chunk,
                   const CaseField& field) {
  std::vector<std::byte> data = read.bytes_of(tensor, chunk);
  read.report.expect_equal(tensor.name + ": data_len", field["data_len"].integer(),
                           std::int64_t(data.size()));
  std::vector<std::byte> there(data.size());
  read.store.read(read.path_of(chunk), field["data_at"].integer(), there);
  if (there != data) read.report.mismatch(tensor.name + ": other bytes lie at data_at");
}

void compare_native_chunk(const ReadDcp& read, const StoredTensor& tensor, std::size_t i,
                          const std::string& who, const CaseField& field) {
  const StoredChunk& chunk = tensor.chunks[i];
  read.report.expect_equal(who + "sizes", field["sizes"].dims(), chunk.box.sizes);
  read.report.expect_equal(who + "file", field["file"].text(), chunk.file);
  read.report.expect_equal(who + "offset", field["offset"].integer(), chunk.begin);
  read.report.expect_equal(who + "length", field["length"].integer(), chunk.bytes);
  read.report.expect_equal(who + "index", field["index"].integer(), std::int64_t(i));
  compare_place(read, tensor, chunk, field);
}

JsonValue json_value(const CaseField& field) { return JsonValue::parse(field.value().dump()); }

void compare_path(const std::string& who, const CaseField& field,
                  const std::vector<JsonValue>& path, CaseReport& report) {
  report.expect_equal(who + ": path", json_value(field).text(),
                      JsonValue{JsonValue::List(path.begin(), path.end())}.text());
}

// Compares the place of a value that is no tensor.
void compare_object_place(const checkpoint::DcpMetadata& metadata, const CaseField& field,
                          CaseReport& report) {
  for (const checkpoint::DcpMetadata::Object& object : metadata.objects) {
    if (object.name != field["fqn"].text()) continue;
    report.expect_equal(object.name + ": file", field["file"].text(), object.file);
    report.expect_equal(object.name + ": offset", field["offset"].integer(), object.begin);
    report.expect_equal(object.name + ": length", field["length"].integer(), object.bytes);
  }
}

void verify_dcp_native(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  auto store = case_folder(recorded);
  std::string folder = recorded["dir"].text();
  Catalog catalog = checkpoint::read_dcp(store, folder);
  catalog.format = checkpoint::dcp_format.name;
  ReadDcp read = {store, {catalog, folder}, report};
  compare_tensors(
      read, recorded,
      [&](const StoredTensor& tensor, std::size_t i, const std::string& who,
          const CaseField& field) { compare_native_chunk(read, tensor, i, who, field); },
      [](const CaseField&) {});
  std::vector<CaseField> objects = recorded["objects"].items();
  report.expect_equal("number of objects", objects.size(), catalog.objects.size());
  report.expect_equal("number of paths", recorded["paths"].size(), catalog.paths.size());
  checkpoint::DcpMetadata metadata = checkpoint::read_dcp_metadata(read_file(
      store, checkpoint::joined(folder, checkpoint::dcp_metadata_file), metadata_bytes_max));
  report.expect_equal("version", recorded["version"].text(), metadata.version);
  for (const CaseField& field : objects) {
    std::string name = field["fqn"].text();
    const checkpoint::StoredObject* object = catalog.find_object(name);
    if (object == nullptr) {
      report.mismatch("no object " + name);
      continue;
    }
    report.expect_equal(name + ": value", json_value(field["value"]).text(), object->value.text());
    compare_path(name, field["path"], object->path, report);
    compare_object_place(metadata, field, report);
  }
  for (const std::string& name : recorded["paths"].keys()) {
    auto found = std::find_if(catalog.paths.begin(), catalog.paths.end(),
                              [&](const auto& entry) { return entry.first == name; });
    if (found == catalog.paths.end())
      report.mismatch("no path of " + name);
    else
      compare_path(name, recorded["paths"][name], found->second, report);
  }
}

Schema dcp_hf_schema() {
  using namespace schema;
  Schema count = integer({.min = 0});
  schema::Fields box = {expected("file", text()), expected("shape", shape_schema()),
                        expected("begin", count), expected("end", count), expected("hash", hash())};
  schema::Fields chunk = box, whole = box;
  chunk.push_back(expected("offsets", shape_schema()));
  whole.push_back(expected("equals_global", flag()));
  Schema file =
      object({expected("header_len", count), expected("metadata", or_null(map(any_text()))),
              expected("names", list(text()))});
  Schema writer =
      object({required("form", word({"hf"})), required("distributed", flag()),
              required("consolidate", flag()), optional("index", map(integer({.min = 1})))});
  Schema index = object({expected("metadata", object({expected("total_size", count)})),
                         expected("weight_map", map(text()))});
  Schema tensor = dcp_tensor_schema(chunk, {expected("whole", object(whole)).or_absent()});
  return object(
      {required("dir", text()), required("world", world_schema()), required("mesh", mesh_schema()),
       required("writer", writer).because("for human readers"), required("tensors", list(tensor)),
       expected("files", map(file)), expected("index", or_null(index)), label("fault", text()),
       label("save_error", any_text())});
}

// Returns the names of all safetensors files of the case's folder, shards in it too.
std::vector<std::string> safetensors_files(const checkpoint::Store& store, const std::string& dir) {
  std::vector<std::string> files = store.files(dir);
  std::erase_if(files, [](const std::string& name) { return !name.ends_with(".safetensors"); });
  return files;
}

// The index names each tensor's file and counts all bytes.
void compare_index(const RecordedCase& recorded, const checkpoint::Store& store,
                   CaseReport& report) {
  std::string file = checkpoint::joined(recorded["dir"].text(), checkpoint::safetensors_index_file);
  bool is_there = store.size(file).has_value();
  CaseField index = recorded["index"];
  if (!report.expect_equal("has an index", !index.is_null(), is_there) || !is_there) return;
  std::vector<std::byte> bytes = read_file(store, file, metadata_bytes_max);
  auto stored = nlohmann::json::parse(reinterpret_cast<const char*>(bytes.data()),
                                      reinterpret_cast<const char*>(bytes.data()) + bytes.size());
  expect_same(report, "index", index.value(), stored);
}

void compare_files(const RecordedCase& recorded, const checkpoint::Store& store,
                   CaseReport& report) {
  report.expect_equal("files", recorded["files"].keys(),
                      safetensors_files(store, recorded["dir"].text()));
  for (const std::string& name : recorded["files"].keys()) {
    CaseField file = recorded["files"][name];
    auto header = checkpoint::read_safetensors_header(
        store, checkpoint::joined(recorded["dir"].text(), name));
    report.expect_equal(name + ": header_len", file["header_len"].integer(), header.length);
    checkpoint::SafetensorsMetadata metadata;
    if (CaseField entries = file["metadata"]; !entries.is_null()) {
      metadata.emplace();
      for (const std::string& key : entries.keys()) (*metadata)[key] = entries[key].text();
    }
    if (metadata != header.metadata) report.mismatch(name + ": metadata differ");
    std::vector<std::string> names;
    for (const auto& entry : header.tensors) names.push_back(entry.name);
    report.expect_equal(name + ": names", file["names"].texts(), names);
  }
}

// The bytes of a box are where the case has them: begin and end count from the header's end. Files
// are named relative to the case's folder.
void compare_box(const ReadDcp& read, const CaseField& box, const std::string& who,
                 const std::string& dir, const StoredTensor& tensor, const StoredChunk& chunk) {
  std::string file = read.path_of(chunk);
  auto header = checkpoint::read_safetensors_header(read.store, file);
  read.report.expect_equal(who + "file", checkpoint::joined(dir, box["file"].text()), file);
  read.report.expect_equal(who + "shape", box["shape"].shape(), chunk.box.sizes);
  read.report.expect_equal(who + "begin", box["begin"].integer(),
                           chunk.begin - header.data_begin());
  read.report.expect_equal(who + "end", box["end"].integer(),
                           chunk.begin + chunk.bytes - header.data_begin());
  read.report.expect_equal(who + "hash", box["hash"].text(),
                           bits_text(read.bytes_of(tensor, chunk)));
}

void compare_whole(const ReadDcp& consolidated, const CaseField& field) {
  std::string name = field["fqn"].text();
  const StoredTensor* tensor = consolidated.opened.catalog.find(name);
  if (tensor == nullptr || tensor->chunks.size() != 1) {
    consolidated.report.mismatch(name + ": not whole in a consolidated file");
    return;
  }
  CaseField whole = field["whole"];
  compare_box(consolidated, whole, name + ": whole: ", consolidated.opened.folder, *tensor,
              tensor->chunks[0]);
  std::string hash = bits_text(consolidated.bytes_of(*tensor, tensor->chunks[0]));
  consolidated.report.expect_equal(name + ": equals_global", whole["equals_global"].boolean(),
                                   hash == field["hash"].text());
}

void verify_dcp_hf(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  auto store = case_folder(recorded);
  std::string dir = recorded["dir"].text();
  compare_files(recorded, store, report);
  compare_index(recorded, store, report);
  std::vector<std::string> below = store.folders(dir);
  bool has_shards = std::find(below.begin(), below.end(), "sharded") != below.end();
  std::string folder = has_shards ? checkpoint::joined(dir, "sharded") : dir;
  ReadDcp read = {store, {checkpoint::read_hugging_face(store, folder), folder}, report};
  std::optional<ReadDcp> consolidated;
  compare_tensors(
      read, recorded,
      [&](const StoredTensor& tensor, std::size_t i, const std::string& who,
          const CaseField& field) { compare_box(read, field, who, dir, tensor, tensor.chunks[i]); },
      [&](const CaseField& field) {
        bool is_whole = has_shards && !recorded["index"].is_null();
        report.expect_equal(field["fqn"].text() + ": has a consolidated form", field.has("whole"),
                            is_whole);
        if (!field.has("whole") || !is_whole) return;
        if (!consolidated)
          consolidated.emplace(
              ReadDcp{store, {checkpoint::read_hugging_face(store, dir), dir}, report});
        compare_whole(*consolidated, field);
      });
}

const CaseKind dcp_native_kind(
    {.name = "dcp_native",
     .summary = "what a checkpoint of torch.distributed.checkpoint holds, and where",
     .schema = dcp_native_schema,
     .verifier = verify_dcp_native});

const CaseKind dcp_hf_kind(
    {.name = "dcp_hf",
     .summary = "what safetensors files of torch.distributed.checkpoint hold, and where",
     .schema = dcp_hf_schema,
     .verifier = verify_dcp_hf});

}  // namespace

}  // namespace simmesh
