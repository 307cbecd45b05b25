#include "core/autograd/variable.h"
#include "core/ops/shapes/factories.h"
#include "verify/case_kind.h"
#include "verify/case_tensor.h"
#include "verify/pipeline/case_raises.h"
#include "verify/pipeline/muon_case.h"

namespace simmesh {

namespace {

Schema muon_errors_schema() {
  using namespace schema;
  // simmesh has no complex tensors, which Muon refuses.
  Schema dtype = word({"float64", "float32", "bfloat16", "complex64", "complex128"});
  Schema param = object({required("shape", shape_schema()), required("dtype", dtype),
                         label("rule", text()).or_absent(), label("seed", seed()).or_absent(),
                         label("scale", number()).or_absent()});
  Schema at = word({"construct", "add_param_group", "step"});
  return object({required("params", list(param, {.min = 1, .max = 64})),
                 required("options", object(muon_option_fields())),
                 optional("how", word({"sparse", "tensor_lr", "tensor_lr_2", "foreach", "add_3d"})),
                 expected("raises", or_null(raises_schema({expected("at", at)})))});
}

// MuonMisuse is a case, run up to the call that raises.
struct MuonMisuse {
  const RecordedCase& recorded;
  std::string how;
  std::string at = "construct";

  void run() {
    std::vector<Tensor> parameters;
    bool has_complex = false;
    for (const CaseField& field : recorded["params"].items()) {
      bool is_complex = field["dtype"].text().starts_with("complex");
      has_complex = has_complex || is_complex;
      parameters.push_back(
          parameter_of(field["shape"].shape(), is_complex ? "float32" : field["dtype"].text()));
    }
    optim::TorchMuonOptions options = read_muon_options(recorded["options"]);
    if (how == "tensor_lr" || how == "tensor_lr_2")
      options.lr = optim::muon_lr(full(Shape{how == "tensor_lr" ? 1 : 2}, DType::float32, 0.01));
    options.foreach = how == "foreach";
    optim::TorchMuon muon(parameters, options);
    if (how == "add_3d") {
      at = "add_param_group";
      parameters.push_back(parameter_of({2, 3, 3}, "float32"));
      muon.add_param_group({{parameters.back()}, options});
    }
    at = "step";
    optim::require_muon_input({.is_complex = has_complex, .is_sparse = how == "sparse"});
    muon.step();
  }

 private:
  // Returns a parameter with a gradient of ones.
  static Tensor parameter_of(const Shape& shape, const std::string& dtype_name) {
    DType dtype = dtype_from_string(dtype_name);
    Tensor parameter = zeros(shape, dtype);
    set_requires_grad(parameter);
    set_grad(parameter, full(shape, dtype, 1.0));
    return parameter;
  }
};

void verify_muon_errors(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  for (const CaseField& field : recorded["params"].items())
    require_elements(field["shape"], field["shape"].shape(), 1 << 10);
  auto how = recorded.find("how");
  MuonMisuse misuse{recorded, how ? how->text() : std::string()};
  CaseField raises = recorded["raises"];
  if (raises.is_null()) return misuse.run();
  expect_raises(report, "the misuse", raises, [&] { misuse.run(); });
  report.expect_equal("place of the error", raises["at"].text(), misuse.at);
}

const CaseKind muon_errors_kind({.name = "muon_errors",
                                 .summary = "class, place and words of what Muon refuses",
                                 .schema = muon_errors_schema,
                                 .verifier = verify_muon_errors});

}  // namespace

}  // namespace simmesh
