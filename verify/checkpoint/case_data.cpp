#include "verify/checkpoint/case_data.h"

#include <filesystem>
#include <fmt/format.h>

#include "core/tensor/formula.h"
#include "verify/case_tensor.h"

namespace simmesh {

checkpoint::DirectoryStore case_folder(const RecordedCase& recorded) {
  std::string folder = std::filesystem::path(recorded.place().file).parent_path().string();
  return checkpoint::DirectoryStore(folder.empty() ? "." : folder);
}

Schema stored_data_schema() {
  using namespace schema;
  return named("stored data", [] {
    return object_by("rule",
                     {{"wide", {}},
                      {"small", {}},
                      {"unit", {optional("scale", number())}},
                      {"positive", {}},
                      {"index", {required("below", integer({.min = 1}))}},
                      {"bool", {}},
                      {"raw", {}}},
                     {required("seed", seed())});
  });
}

std::vector<std::byte> stored_data(const CaseField& data, checkpoint::StoredDType dtype,
                                   const CaseField& shape) {
  require_elements(shape, shape.shape(), 1);
  if (data["rule"].text() == "raw") {
    std::int64_t bits = numel(shape.shape()) * checkpoint::bits_per_element(dtype);
    std::vector<std::byte> bytes(std::size_t(bits / 8));
    for (std::size_t j = 0; j < bytes.size(); ++j)
      bytes[j] = std::byte(formula_word(data["seed"].unsigned64(), j) >> 56);
    return bytes;
  }
  std::optional<DType> held = checkpoint::tensor_dtype(dtype);
  if (!held) data.reject(fmt::format("the rule raw for elements of {}", to_string(dtype)));
  Formula rule = {.rule = rule_from_string(data["rule"].text()),
                  .seed = data["seed"].unsigned64(),
                  .dtype = *held};
  if (auto below = data.find("below")) rule.below = below->unsigned64();
  if (auto scale = data.find("scale")) rule.scale = scale->number();
  Tensor values = formula(shape.shape(), rule);
  return {values.data(), values.data() + values.bytes()};
}

}  // namespace simmesh
