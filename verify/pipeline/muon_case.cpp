#include "verify/pipeline/muon_case.h"

namespace simmesh {

schema::Fields muon_option_fields() {
  using namespace schema;
  return {optional("lr", number()),
          optional("weight_decay", number()),
          optional("momentum", number()),
          optional("nesterov", flag()),
          optional("ns_coefficients", list(number(), {.max = 8})),
          optional("eps", number()),
          optional("ns_steps", integer()),
          optional("adjust_lr_fn", or_null(text()))};
}

optim::TorchMuonOptions read_muon_options(const CaseField& field) {
  optim::TorchMuonOptions options;
  auto read = [&](const char* name, double& value) {
    if (auto given = field.find(name)) value = given->number();
  };
  read("lr", options.lr);
  read("weight_decay", options.weight_decay);
  read("momentum", options.momentum);
  read("eps", options.iteration.eps);
  if (auto nesterov = field.find("nesterov")) options.nesterov = nesterov->boolean();
  if (auto steps = field.find("ns_steps")) options.iteration.steps = steps->integer();
  if (auto coefficients = field.find("ns_coefficients")) {
    options.iteration.coefficients.clear();
    for (const CaseField& coefficient : coefficients->items())
      options.iteration.coefficients.push_back(coefficient.number());
  }
  if (auto rate = field.find("adjust_lr_fn"); rate && !rate->is_null())
    options.adjust_lr = optim::muon_rate_from_string(rate->text());
  return options;
}

}  // namespace simmesh
