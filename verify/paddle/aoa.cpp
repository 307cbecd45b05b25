#include <map>

#include "checkpoint/catalog/piece.h"
#include "checkpoint/mapping/load_mapped.h"
#include "checkpoint/mapping/mapping.h"
#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_tensor.h"

namespace simmesh {

namespace {

using checkpoint::Box;
using checkpoint::MappedTensor;
using checkpoint::Mapping;

Schema paddle_aoa_schema() {
  using namespace schema;
  Schema bits = object({expected("shape", shape_schema()), expected("hash", hash())});
  Schema refusal =
      object({expected("error", text()).because("a KeyError counts, other classes are Paddle's"),
              label("message_contains", any_text())});
  return object(
      {required("tensors", map(tensor_schema())), required("targets", map(planned_tensor_schema())),
       required("statements", list(any_text())), expected("after", map(bits)).unless("error"),
       expected("error", refusal).unless("after")});
}

// Targets that a program makes, by name.
std::map<std::string, Tensor> load_targets(const RecordedCase& recorded,
                                           const std::map<std::string, Tensor>& stored) {
  std::map<std::string, checkpoint::StoredShape> shapes;
  for (const auto& [name, tensor] : stored) shapes[name] = {tensor.shape(), tensor.dtype()};
  Mapping mapping(recorded["statements"].texts(), shapes);
  auto read_box = [&](const std::string& name, const Box& box) {
    return checkpoint::part_of(stored.at(name), box).contiguous();
  };
  std::map<std::string, Tensor> loaded;
  CaseField targets = recorded["targets"];
  for (const std::string& name : targets.keys()) {
    CaseTensor target = read_tensor(targets[name]);
    Tensor before = zeros(target.shape, target.data.dtype);
    const MappedTensor* mapped = mapping.find(name);
    if (mapping.is_left_alone(name)) {
      loaded[name] = before;
      continue;
    }
    if (mapped == nullptr)
      raise(ErrorKind::key_error, "checkpoint/load", "'{}' is neither stored nor mapped", name);
    if (mapped->shape != target.shape || mapped->dtype() != target.data.dtype)
      raise(ErrorKind::value_error, "checkpoint/load", "'{}': expected {}{}, got {}{}", name,
            to_string(target.data.dtype), to_string(target.shape), to_string(mapped->dtype()),
            to_string(mapped->shape));
    loaded[name] = load_mapped(*mapped, checkpoint::whole(target.shape), read_box);
  }
  return loaded;
}

void verify_paddle_aoa(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  std::map<std::string, Tensor> stored;
  CaseField tensors = recorded["tensors"];
  for (const std::string& name : tensors.keys()) {
    CaseTensor tensor = read_tensor(tensors[name]);
    require_elements(tensors[name], tensor.shape, 1);
    stored[name] = formula(tensor.shape, tensor.data);
  }
  // The class of error for a meaningless statement depends on Python; a target that nobody gives is
  // a KeyError here too.
  auto refusal = recorded.find("error");
  try {
    std::map<std::string, Tensor> loaded = load_targets(recorded, stored);
    if (refusal) {
      report.mismatch(fmt::format("expected a refusal: {}", (*refusal)["message_contains"].text()));
      return;
    }
    CaseField after = recorded["after"];
    report.expect_equal("number of targets", after.size(), loaded.size());
    for (const std::string& name : after.keys()) {
      auto found = loaded.find(name);
      if (found == loaded.end()) {
        report.mismatch("no target " + name);
        continue;
      }
      report.expect_equal(name + ": shape", after[name]["shape"].shape(), found->second.shape());
      report.expect_equal(name + ": hash", after[name]["hash"].text(), bits_text(found->second));
    }
  } catch (const Error& error) {
    if (!refusal)
      report.mismatch(fmt::format("refused: {}", error.what()));
    else
      report.expect_equal("is a KeyError", (*refusal)["error"].text() == "KeyError",
                          error.kind() == ErrorKind::key_error);
  }
}

const CaseKind paddle_aoa_kind({.name = "paddle_aoa",
                                .summary = "what mapping statements load from stored tensors",
                                .schema = paddle_aoa_schema,
                                .verifier = verify_paddle_aoa});

}  // namespace

}  // namespace simmesh
