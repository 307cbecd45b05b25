#include <algorithm>
#include <map>

#include "checkpoint/safetensors/safetensors_file.h"
#include "checkpoint/store/memory_store.h"
#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_tensor.h"
#include "verify/checkpoint/case_data.h"

namespace simmesh {

namespace {

using checkpoint::SafetensorsEntry;
using checkpoint::SafetensorsHeader;
using checkpoint::SafetensorsMetadata;
using Metadata = SafetensorsMetadata::value_type;

constexpr std::int64_t safetensors_file_max = std::int64_t{1} << 30;

Schema safetensors_schema() {
  using namespace schema;
  Schema count = integer({.min = 0});
  Schema tensor =
      object({expected("name", any_text()), required("dtype", text()),
              required("shape", shape_schema()), required("data", stored_data_schema()),
              expected("begin", count), expected("end", count), expected("hash", hash())});
  return object({required("file", text()), expected("bytes", count), optional("sha256", text()),
                 expected("header_len", count), expected("metadata", or_null(map(any_text()))),
                 required("byte_exact", flag()), optional("origin", word({"package", "hand"})),
                 required("tensors", list(tensor)), optional("note", text())});
}

checkpoint::StoredDType read_stored_dtype(const CaseField& field) {
  auto dtype = checkpoint::find_stored_dtype(field.text());
  if (!dtype) field.reject("a dtype of safetensors");
  return *dtype;
}

SafetensorsMetadata read_metadata(const CaseField& field) {
  if (field.is_null()) return std::nullopt;
  std::map<std::string, std::string> metadata;
  for (const std::string& key : field.keys()) metadata[key] = field[key].text();
  return metadata;
}

void compare_read(const RecordedCase& recorded, const checkpoint::Store& store,
                  CaseReport& report) {
  std::string file = recorded["file"].text();
  SafetensorsHeader header = checkpoint::read_safetensors_header(store, file);
  report.expect_equal("header_len", recorded["header_len"].integer(), header.length);
  // Empty metadata and none are the same when read, but not when written.
  if (header.metadata.value_or(Metadata()) !=
      read_metadata(recorded["metadata"]).value_or(Metadata()))
    report.mismatch("metadata differ");
  std::vector<CaseField> tensors = recorded["tensors"].items();
  if (!report.expect_equal("number of tensors", tensors.size(), header.tensors.size())) return;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const SafetensorsEntry& entry = header.tensors[i];
    const std::string& name = entry.name;
    report.expect_equal(name + ": name", tensors[i]["name"].text(), name);
    report.expect_equal(name + ": dtype", tensors[i]["dtype"].text(), to_string(entry.dtype));
    report.expect_equal(name + ": shape", tensors[i]["shape"].shape(), entry.shape);
    report.expect_equal(name + ": begin", tensors[i]["begin"].integer(), entry.begin);
    report.expect_equal(name + ": end", tensors[i]["end"].integer(), entry.end);
    std::vector<std::byte> bytes(static_cast<std::size_t>(entry.bytes()));
    store.read(file, header.data_begin() + entry.begin, bytes);
    report.expect_equal(name + ": hash", tensors[i]["hash"].text(), bits_text(bytes));
    if (stored_data(tensors[i]["data"], read_stored_dtype(tensors[i]["dtype"]),
                    tensors[i]["shape"]) != bytes)
      report.mismatch(name + ": the bytes differ from the formula's");
  }
}

// Writes the tensors, in the opposite of the file's order, and compares every byte of the file.
void compare_written(const RecordedCase& recorded, const checkpoint::Store& store,
                     CaseReport& report) {
  std::vector<std::vector<std::byte>> data;
  std::vector<checkpoint::WrittenTensor> written;
  std::vector<CaseField> tensors = recorded["tensors"].items();
  std::reverse(tensors.begin(), tensors.end());
  for (const CaseField& tensor : tensors)
    data.push_back(
        stored_data(tensor["data"], read_stored_dtype(tensor["dtype"]), tensor["shape"]));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    written.push_back({tensors[i]["name"].text(), read_stored_dtype(tensors[i]["dtype"]),
                       tensors[i]["shape"].shape(), data[i]});
  checkpoint::MemoryStore memory;
  checkpoint::write_safetensors(*memory.create("written"), written,
                                read_metadata(recorded["metadata"]));
  auto expected = read_file(store, recorded["file"].text(), safetensors_file_max);
  auto actual = read_file(memory, "written", safetensors_file_max);
  if (actual == expected) return;
  auto [a, e] = std::mismatch(actual.begin(), actual.end(), expected.begin(), expected.end());
  report.mismatch(fmt::format("written: {} bytes, expected {}; the first that differs is byte {}",
                              actual.size(), expected.size(), e - expected.begin()));
}

void verify_safetensors(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  auto store = case_folder(recorded);
  report.expect_equal("bytes", recorded["bytes"].integer(),
                      store.size(recorded["file"].text()).value_or(-1));
  compare_read(recorded, store, report);
  if (recorded["byte_exact"].boolean()) compare_written(recorded, store, report);
}

Schema safetensors_bad_schema() {
  using namespace schema;
  Schema verdict = word({"reject", "accept"});
  return object({required("file", text()), expected("bytes", integer({.min = 0})),
                 optional("sha256", text()), optional("reference", verdict),
                 optional("reference_says", any_text()), optional("reason", text()),
                 expected("must", word({"reject", "accept", "either"})),
                 optional("differs", map(verdict)), optional("note", text())});
}

void verify_safetensors_bad(const RecordedCase& recorded, const VerifyOptions&,
                            CaseReport& report) {
  auto store = case_folder(recorded);
  std::string file = recorded["file"].text(), must = recorded["must"].text();
  report.expect_equal("bytes", recorded["bytes"].integer(), store.size(file).value_or(-1));
  std::string verdict = "accept";
  try {
    checkpoint::read_safetensors_header(store, file);
  } catch (const Error& error) {
    verdict = "reject";
    if (error.kind() != ErrorKind::value_error)
      report.mismatch(fmt::format("refused for another reason: {}", error.what()));
  }
  if (must != "either") report.expect_equal("verdict", must, verdict);
}

const CaseKind safetensors_kind(
    {.name = "safetensors",
     .summary = "every tensor of a safetensors file, and the same bytes where we write it",
     .schema = safetensors_schema,
     .verifier = verify_safetensors});

const CaseKind safetensors_bad_kind({.name = "safetensors_bad",
                                     .summary = "whether a broken safetensors file is refused",
                                     .schema = safetensors_bad_schema,
                                     .verifier = verify_safetensors_bad});

}  // namespace

}  // namespace simmesh
