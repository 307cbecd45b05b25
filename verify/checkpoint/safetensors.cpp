#include <algorithm>
#include <map>

#include "checkpoint/safetensors/safetensors_file.h"
#include "checkpoint/store/memory_store.h"
#include "replay/chakra/sha256.h"
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

Schema sha256_schema() {
  return schema::spelled("64 hex digits", [](const std::string& text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
  });
}

// Compares a file's size and digest, before anything is read from it.
void compare_file(const RecordedCase& recorded, const checkpoint::Store& store,
                  CaseReport& report) {
  std::string file = recorded["file"].text();
  if (!report.expect_equal("bytes", recorded["bytes"].integer(), store.size(file).value_or(-1)))
    return;
  std::vector<std::byte> bytes = read_file(store, file, safetensors_file_max);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  report.expect_equal("sha256", recorded["sha256"].text(), replay::sha256(text));
}

Schema safetensors_schema() {
  using namespace schema;
  Schema count = integer({.min = 0});
  Schema tensor =
      object({expected("name", any_text()), expected("dtype", text()),
              expected("shape", shape_schema()), required("data", stored_data_schema()),
              expected("begin", count), expected("end", count), expected("hash", hash())});
  return object({required("file", text()), expected("bytes", count),
                 expected("sha256", sha256_schema()), expected("header_len", count),
                 expected("metadata", or_null(map(any_text()))), expected("byte_exact", flag()),
                 optional("origin", word({"package", "hand"})).because("a label"),
                 required("tensors", list(tensor)), label("note", text())});
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
  bool is_exact = recorded["byte_exact"].boolean();
  // The package writes several entries of metadata in an order that changes from run to run, so
  // one recorded order may be ours.
  bool may_be_equal = recorded["metadata"].is_object() && recorded["metadata"].size() > 1;
  if (!is_exact && actual == expected && !may_be_equal)
    report.mismatch("byte_exact: expected other bytes when written, got the same");
  if (!is_exact || actual == expected) return;
  auto [a, e] = std::mismatch(actual.begin(), actual.end(), expected.begin(), expected.end());
  report.mismatch(fmt::format("written: {} bytes, expected {}; the first that differs is byte {}",
                              actual.size(), expected.size(), e - expected.begin()));
}

void verify_safetensors(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  auto store = case_folder(recorded);
  compare_file(recorded, store, report);
  if (report.failed()) return;
  compare_read(recorded, store, report);
  compare_written(recorded, store, report);
}

// Reasons for which a file is broken, and those for which a reader may be strict or not.
constexpr const char* reasons_to_refuse[] = {"bad_entry",
                                             "bad_offsets",
                                             "bad_shape",
                                             "data_truncated",
                                             "duplicate_field",
                                             "duplicate_name",
                                             "file_too_short",
                                             "header_bad_utf8",
                                             "header_bad_utf8_or_json",
                                             "header_empty_or_not_json",
                                             "header_not_json",
                                             "header_not_object",
                                             "header_past_end",
                                             "header_too_long",
                                             "hole",
                                             "metadata_not_strings",
                                             "missing_field",
                                             "offsets_past_end",
                                             "offsets_reversed",
                                             "overflow",
                                             "overlap",
                                             "size_mismatch",
                                             "sub_byte",
                                             "trailing_bytes",
                                             "unknown_dtype"};
constexpr const char* reasons_to_choose[] = {"bad_entry_positional", "header_not_json_or_depth",
                                             "header_start",         "none",
                                             "overflow_after_zero",  "overflow_before_zero"};

std::vector<std::string> reasons() {
  std::vector<std::string> words(std::begin(reasons_to_refuse), std::end(reasons_to_refuse));
  words.insert(words.end(), std::begin(reasons_to_choose), std::end(reasons_to_choose));
  return words;
}

// The answer asked for follows from the reason; the package accepts duplicates only.
void check_answer(const RecordedCase& recorded, CaseReport& report) {
  std::string reason = recorded["reason"].text(), must = recorded["must"].text();
  bool is_choice = std::find(std::begin(reasons_to_choose), std::end(reasons_to_choose), reason) !=
                   std::end(reasons_to_choose);
  report.expect_equal("must", std::string(is_choice ? "either" : "reject"), must);
  if (!is_choice && !reason.starts_with("duplicate_"))
    report.expect_equal("reference", recorded["reference"].text(), std::string("reject"));
}

Schema safetensors_bad_schema() {
  using namespace schema;
  Schema verdict = word({"reject", "accept"});
  return object({required("file", text()), expected("bytes", integer({.min = 0})),
                 expected("sha256", sha256_schema()), required("reference", verdict),
                 label("reference_says", any_text()), required("reason", word(reasons())),
                 expected("must", word({"reject", "accept", "either"}))
                     .because("where a reader may choose, both answers are right"),
                 label("differs", map(verdict)), label("note", text())});
}

void verify_safetensors_bad(const RecordedCase& recorded, const VerifyOptions&,
                            CaseReport& report) {
  auto store = case_folder(recorded);
  std::string file = recorded["file"].text(), must = recorded["must"].text();
  compare_file(recorded, store, report);
  if (report.failed()) return;
  check_answer(recorded, report);
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
