#include "gate/tables/muon.h"

#include <fmt/format.h>

#include "core/check/join_text.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

constexpr GateTable::NumberRange any_rate{0, 1e6};

std::string_view rate_name(optim::MuonRate rate) {
  switch (rate) {
    case optim::MuonRate::match_rms_adamw: return "match_rms_adamw";
    case optim::MuonRate::spectral_unclamped: return "spectral_unclamped";
    case optim::MuonRate::original: break;
  }
  return "original";
}

void read_others(GateTable& table, optim::AdamOptions& adam) {
  adam.lr = table.number("lr", adam.lr, any_rate);
  std::vector<double> betas = table.numbers("betas");
  auto is_share = [](double beta) { return beta >= 0 && beta < 1; };
  if (table.has("betas") && (betas.size() != 2 || !is_share(betas[0]) || !is_share(betas[1])))
    table.reject_value("betas", "two numbers from 0 to below 1", join_text(betas, " "));
  if (!betas.empty()) adam.beta1 = betas[0], adam.beta2 = betas[1];
  adam.eps = table.number("eps", adam.eps, any_rate);
  adam.weight_decay = table.number("weight_decay", adam.weight_decay, any_rate);
  table.finish();
}

}  // namespace

MuonSpec read_muon(GateTable& table) {
  MuonSpec spec;
  spec.others.options.weight_decay = 0.01;
  optim::TorchMuonOptions& muon = spec.muon;
  muon.lr = table.number("lr", muon.lr, any_rate);
  muon.weight_decay = table.number("weight_decay", muon.weight_decay, any_rate);
  muon.momentum = table.number("momentum", muon.momentum, {0, 1});
  muon.nesterov = table.boolean("nesterov", muon.nesterov);
  muon.iteration.steps = table.integer("ns_steps", muon.iteration.steps, {0, 99});
  muon.adjust_lr = optim::muon_rate_from_string(table.word(
      "adjust_lr_fn", "original", {"original", "match_rms_adamw", "spectral_unclamped"}));
  if (auto others = table.table("others")) read_others(*others, spec.others.options);
  table.finish();
  return spec;
}

std::string muon_text(const MuonSpec& spec) {
  const optim::TorchMuonOptions& muon = spec.muon;
  const optim::AdamOptions& adam = spec.others.options;
  return fmt::format(
      "{{ kind = \"muon\", lr = {}, weight_decay = {}, momentum = {}, nesterov = {}, ns_steps = "
      "{}, adjust_lr_fn = {}, others = {{ lr = {}, betas = [{}], eps = {}, weight_decay = {} }} }}",
      toml_number(muon.lr), toml_number(muon.weight_decay), toml_number(muon.momentum),
      muon.nesterov, muon.iteration.steps, toml_quoted(rate_name(muon.adjust_lr)),
      toml_number(adam.lr), toml_number(adam.beta1) + ", " + toml_number(adam.beta2),
      toml_number(adam.eps), toml_number(adam.weight_decay));
}

}  // namespace simmesh
