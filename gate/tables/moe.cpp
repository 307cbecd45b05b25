#include "gate/tables/moe.h"

#include <fmt/format.h>

namespace simmesh {

namespace {

constexpr GateTable::NumberRange coefficients{0, 1e6};

void check_groups(const GateTable& table, const nn::RouterOptions& router,
                  const GateExperts& experts) {
  if (experts.experts % router.groups != 0)
    table.reject_value("groups", fmt::format("a divisor of the {} experts", experts.experts),
                       std::to_string(router.groups));
  if (router.top_groups > router.groups ||
      router.top_groups * (experts.experts / router.groups) < experts.top_k)
    table.reject_value("top_groups",
                       fmt::format("at most {} groups, with at least {} experts of {} each",
                                   router.groups, experts.top_k, experts.experts / router.groups),
                       std::to_string(router.top_groups));
}

template <class Value>
void add_if(nn::ModelNode& node, const char* name, const Value& value, const Value& otherwise) {
  if (value != otherwise) node.fields[name] = value;
}

}  // namespace

GateMoe read_gate_moe(GateTable& table, const GateExperts& experts) {
  GateMoe moe;
  nn::RouterOptions& router = moe.router;
  moe.shared = table.integer("shared", moe.shared, {0, 1024});
  moe.capacity_factor = table.number("capacity_factor", moe.capacity_factor, coefficients);
  std::string drop = table.word("drop", std::string(to_string(router.drop)),
                                {"choice", "position", "probability", "none"});
  router.drop = nn::drop_order_from_string(drop).value_or(router.drop);
  std::string score =
      table.word("score", std::string(to_string(router.score)), {"softmax", "sigmoid"});
  router.score = nn::router_score_from_string(score).value_or(router.score);
  router.normalizes = table.boolean("normalize", router.normalizes);
  router.scaling = table.number("scaling", router.scaling, coefficients);
  router.groups = table.integer("groups", router.groups, {1, 1024});
  router.top_groups = table.integer("top_groups", router.groups, {1, 1024});
  router.aux_loss = table.number("aux_loss", router.aux_loss, coefficients);
  router.z_loss = table.number("z_loss", router.z_loss, coefficients);
  router.bias_rate = table.number("bias_rate", router.bias_rate, coefficients);
  router.force_load_balance = table.boolean("force_load_balance", router.force_load_balance);
  moe.gated = table.boolean("gated", moe.gated);
  moe.dense_layers = table.integer("dense_layers", moe.dense_layers, {0, 256});
  moe.dense_hidden = table.integer("dense_hidden", experts.hidden, {1, 1 << 20});
  check_groups(table, router, experts);
  return moe;
}

void add_router_fields(const GateMoe& moe, nn::ModelNode& node) {
  const nn::RouterOptions &router = moe.router, defaults;
  add_if(node, "shared", moe.shared, std::int64_t(0));
  add_if(node, "capacity_factor", moe.capacity_factor, 0.0);
  add_if(node, "drop", std::string(to_string(router.drop)), std::string(to_string(defaults.drop)));
  add_if(node, "score", std::string(to_string(router.score)),
         std::string(to_string(defaults.score)));
  add_if(node, "normalize", router.normalizes, defaults.normalizes);
  add_if(node, "scaling", router.scaling, defaults.scaling);
  add_if(node, "groups", router.groups, defaults.groups);
  add_if(node, "top_groups", router.top_groups, router.groups);
  add_if(node, "aux_loss", router.aux_loss, defaults.aux_loss);
  add_if(node, "z_loss", router.z_loss, defaults.z_loss);
  add_if(node, "bias_rate", router.bias_rate, defaults.bias_rate);
  add_if(node, "gated", moe.gated, false);
  add_if(node, "force_load_balance", router.force_load_balance, false);
}

void add_gate_moe(const GateMoe& moe, TomlTable& table) {
  const nn::RouterOptions& router = moe.router;
  table.add("shared", moe.shared);
  table.add("capacity_factor", toml_number(moe.capacity_factor));
  table.word("drop", to_string(router.drop));
  table.word("score", to_string(router.score));
  table.add("normalize", router.normalizes);
  table.add("scaling", toml_number(router.scaling));
  table.add("groups", router.groups);
  table.add("top_groups", router.top_groups);
  table.add("aux_loss", toml_number(router.aux_loss));
  table.add("z_loss", toml_number(router.z_loss));
  table.add("bias_rate", toml_number(router.bias_rate));
  table.add("force_load_balance", router.force_load_balance);
  table.add("gated", moe.gated);
  table.add("dense_layers", moe.dense_layers);
  table.add("dense_hidden", moe.dense_hidden);
}

}  // namespace simmesh
