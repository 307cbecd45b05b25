#include <nlohmann/json.hpp>

#include "checkpoint/format/formats.h"
#include "checkpoint/read/open.h"
#include "checkpoint/read/read_tensor.h"
#include "checkpoint/tools/verify.h"
#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_tensor.h"
#include "verify/checkpoint/case_data.h"

namespace simmesh {

namespace {

using checkpoint::StoredTensor;

Schema deepspeed_schema() {
  using namespace schema;
  Schema tensor = object({required("name", text()), expected("dtype", dtype_schema()),
                          expected("shape", shape_schema()), expected("hash", hash())});
  return object({required("dir", text()), required("ranks", integer({.min = 1})),
                 required("weights", list(tensor)), required("state", list(tensor)),
                 expected("values", map(any()))});
}

void compare_whole_tensor(const checkpoint::Location& location,
                          const checkpoint::OpenCheckpoint& opened, const CaseField& field,
                          const StoredTensor* tensor, CaseReport& report) {
  std::string name = field["name"].text();
  if (tensor == nullptr) {
    report.mismatch("no tensor " + name);
    return;
  }
  report.expect_equal(name + ": dtype", field["dtype"].text(),
                      std::string(dtype_name(tensor->dtype)));
  report.expect_equal(name + ": shape", field["shape"].shape(), tensor->shape);
  report.expect_equal(name + ": hash", field["hash"].text(),
                      bits_text(checkpoint::read_tensor(*location.store, opened, *tensor)));
}

void verify_deepspeed(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  checkpoint::Location location = {
      std::make_shared<checkpoint::DirectoryStore>(case_folder(recorded)), recorded["dir"].text()};
  for (const std::string& problem : checkpoint::verify(location)) report.mismatch(problem);
  checkpoint::OpenCheckpoint opened = checkpoint::open(location);
  const checkpoint::Catalog& catalog = opened.catalog;
  report.expect_equal("format", std::string(checkpoint::deepspeed_format.name), catalog.format);
  for (const CaseField& field : recorded["weights"].items()) {
    const StoredTensor* tensor = catalog.find("model." + field["name"].text());
    if (tensor == nullptr) tensor = catalog.find("master." + field["name"].text());
    compare_whole_tensor(location, opened, field, tensor, report);
  }
  for (const CaseField& field : recorded["state"].items())
    compare_whole_tensor(location, opened, field, catalog.find(field["name"].text()), report);
  report.expect_equal("number of tensors", recorded["weights"].size() + recorded["state"].size(),
                      catalog.tensors.size());
  CaseField values = recorded["values"];
  for (const std::string& name : values.keys()) {
    const checkpoint::StoredObject* object = catalog.find_object(name);
    if (object == nullptr)
      report.mismatch("no value " + name);
    else
      report.expect_equal(name + ": value", JsonValue::parse(values[name].value().dump()).text(),
                          object->value.text());
  }
  report.expect_equal("number of values", values.size(), catalog.objects.size());
}

const CaseKind deepspeed_kind({.name = "deepspeed_checkpoint",
                               .summary = "what a checkpoint of DeepSpeed holds",
                               .schema = deepspeed_schema,
                               .verifier = verify_deepspeed});

}  // namespace

}  // namespace simmesh
