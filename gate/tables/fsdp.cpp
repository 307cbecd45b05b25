#include "gate/tables/fsdp.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "core/check/join_text.h"
#include "core/nn/containers.h"
#include "gate/tables/model.h"

namespace simmesh {

namespace {

constexpr std::size_t shown_name_max = 40;

std::string quoted_name(const std::string& name) {
  return "'" + name.substr(0, shown_name_max) + "'";
}

bool is_below_module(std::string_view path, std::string_view ancestor) {
  return path.size() > ancestor.size() && path.substr(0, ancestor.size()) == ancestor &&
         path[ancestor.size()] == '.';
}

nn::ModulePtr shapes_of(const nn::ModelNode& model) {
  return nn::build(model, {.device = nn::Device::meta});
}

std::vector<std::string> read_fsdp_dims(GateTable& table, const GateLayout& layout) {
  const toml::node* node = table.value("mesh");
  if (!node || !node->is_array()) return {table.word("mesh", layout.names.front(), layout.names)};
  std::vector<std::string> dims = table.texts("mesh");
  if (dims.empty() || dims.size() > 2)
    table.reject("mesh",
                 "one dim, or two dims of which the first replicates and the second shards");
  for (const std::string& dim : dims)
    if (std::find(layout.names.begin(), layout.names.end(), dim) == layout.names.end())
      table.reject_value("mesh", fmt::format("some of {}", join_text(layout.names, ", ")),
                         quoted_name(dim));
  if (dims.size() == 2 && layout.index_of(dims[0]) >= layout.index_of(dims[1]))
    table.reject_value("mesh", "two dims in the order of the mesh",
                       quoted_name(dims[0]) + " and " + quoted_name(dims[1]));
  return dims;
}

PlainValue read_reshard(GateTable& table, std::int64_t shards) {
  constexpr const char* key = "reshard_after_forward";
  const toml::node* node = table.value(key);
  if (!node) return {};
  if (node->is_boolean()) return table.boolean(key, true);
  std::string expected =
      fmt::format("true, false, \"default\" or a divisor of the shard mesh size {}", shards);
  if (node->is_string() && node->as_string()->get() == "default") return {};
  if (!node->is_integer()) table.reject(key, expected);
  std::int64_t ranks = node->as_integer()->get();
  if (ranks < 1 || ranks > shards || shards % ranks != 0) table.reject(key, expected);
  return ranks;
}

std::optional<DType> read_policy_dtype(GateTable& table, std::string_view key) {
  std::string name = table.word(key, "none", {"none", "float64", "float32", "bfloat16", "float16"});
  if (name == "none") return std::nullopt;
  return dtype_from_string(name);
}

GradDtype read_grad_dtype(GateTable& table) {
  std::string name = table.word("grad_dtype", "default",
                                {"default", "any", "float64", "float32", "bfloat16", "float16"});
  if (name == "default") return {};
  return name == "any" ? GradDtype::any() : GradDtype(dtype_from_string(name));
}

// Checks that each module comes once, and after the modules below it.
void check_order(const GateTable& table, const std::vector<std::vector<std::string>>& calls) {
  std::vector<std::string> before;
  for (const std::vector<std::string>& call : calls)
    for (const std::string& name : call) {
      for (const std::string& other : before) {
        if (name == other)
          table.reject_value("wrap", "each module once", quoted_name(name) + " twice");
        if (is_below_module(name, other))
          table.reject_value("wrap", "inner modules before outer ones",
                             quoted_name(other) + " before " + quoted_name(name));
      }
      before.push_back(name);
    }
  for (const std::vector<std::string>& call : calls)
    for (const std::string& name : call)
      for (const std::string& other : call)
        if (is_below_module(other, name))
          table.reject_value("wrap", "no module in a group together with a module below it",
                             quoted_name(name) + " with " + quoted_name(other));
}

void read_fsdp_wrap(GateTable& table, const nn::ModelNode& model, GateFsdp& fsdp) {
  const toml::node* node = table.value("wrap");
  if (!node || !node->is_array()) {
    fsdp.wrap = table.word("wrap", fsdp.wrap, {"blocks", "root"});
    return;
  }
  fsdp.wrap = "modules";
  fsdp.modules = table.rows("wrap");
  std::set<std::string> callable;
  nn::ModulePtr shapes = shapes_of(model);
  for (const auto& [name, module] : shapes->named_modules())
    if (!name.empty() && !dynamic_cast<nn::ModuleList*>(module)) callable.insert(name);
  for (const std::vector<std::string>& call : fsdp.modules) {
    if (call.empty()) table.reject_value("wrap", "groups of at least one module", "an empty group");
    for (const std::string& name : call)
      if (!callable.count(name)) {
        std::vector<std::string> names(callable.begin(), callable.end());
        table.reject_value("wrap", "modules of the model that can be called",
                           fmt::format("{}; the nearest one is '{}'", quoted_name(name),
                                       nearest(name, names).substr(0, shown_name_max)));
      }
  }
  check_order(table, fsdp.modules);
}

void read_ignored(GateTable& table, const nn::ModelNode& model, GateFsdp& fsdp) {
  fsdp.ignored_params = table.texts("ignored_params");
  if (fsdp.ignored_params.empty()) return;
  std::vector<std::string> known;
  nn::ModulePtr shapes = shapes_of(model);
  for (const auto& [name, parameter] : shapes->named_parameters()) known.push_back(name);
  for (const std::string& name : fsdp.ignored_params)
    if (std::find(known.begin(), known.end(), name) == known.end())
      table.reject_value("ignored_params", "parameters of the model",
                         fmt::format("{}; the nearest one is '{}'", quoted_name(name),
                                     nearest(name, known).substr(0, shown_name_max)));
}

void read_settings(GateTable& table, const nn::ModelNode& model, ShardedSettings& settings) {
  constexpr GateTable::Range depths{0, 256};
  settings.sync =
      *sync_from_string(table.word("sync", "last", {"every", "last", "all_reduce_last"}));
  settings.forward_prefetch = table.integer("forward_prefetch", 0, depths);
  settings.backward_prefetch = table.integer("backward_prefetch", 0, depths);
  settings.reshard_after_backward = table.boolean("reshard_after_backward", true);
  // Gradients are divided by the factor, and by its root for float16: neither may overflow.
  double factor = table.number("gradient_divide_factor", 0.0, {0, 1e9});
  if (factor > 0 && factor < 1e-9)
    table.reject("gradient_divide_factor", "0, or a number from 1e-09 to 1e+09");
  if (factor > 0) settings.gradient_divide_factor = factor;
  settings.force_sum_reduction = table.boolean("force_sum_reduction_for_comms", false);
  // An expert that no token chose on a rank has no gradient there, but its group must still reduce.
  settings.reduces_unused_params =
      table.boolean("reduce_scatter_unused_params", has_kind(model, "moe"));
  settings.cuts_over_mesh = true;
  settings.grad_dtype = read_grad_dtype(table);
  settings.keeps_unsharded_storage = table.boolean("keep_unsharded_storage", false);
  settings.backward_end = *backward_end_from_string(
      table.word("finalize_backward", "automatic", {"automatic", "manual", "async"}));
}

void add_blocks(const nn::ModelNode& node, const std::string& path,
                std::vector<std::string>& blocks) {
  if (node.kind == "block") return blocks.push_back(path);
  for (const nn::ModelNode& child : node.children)
    add_blocks(child, path.empty() ? child.name : path + "." + child.name, blocks);
}

std::vector<std::vector<std::string>> wrapped_modules(const GateFsdp& fsdp,
                                                      const nn::ModelNode& model) {
  if (fsdp.wrap != "blocks") return fsdp.modules;
  std::vector<std::string> names;
  add_blocks(model, "", names);
  if (names.empty()) {
    nn::ModulePtr shapes = shapes_of(model);
    for (const auto& [name, child] : shapes->children())
      if (!child->parameters().empty() && !dynamic_cast<nn::ModuleList*>(child.get()))
        names.push_back(name);
  }
  std::vector<std::vector<std::string>> calls;
  calls.reserve(names.size());
  for (const std::string& name : names) calls.push_back({name});
  return calls;
}

}  // namespace

GateFsdp read_gate_fsdp(GateTable& table, const GateLayout& layout, const nn::ModelNode& model) {
  GateFsdp fsdp;
  fsdp.mesh = read_fsdp_dims(table, layout);
  read_fsdp_wrap(table, model, fsdp);
  fsdp.reshard_after_forward = read_reshard(table, layout.shape[layout.index_of(fsdp.mesh.back())]);
  fsdp.mp_policy.param_dtype = read_policy_dtype(table, "param_dtype");
  fsdp.mp_policy.reduce_dtype = read_policy_dtype(table, "reduce_dtype");
  fsdp.mp_policy.output_dtype = read_policy_dtype(table, "output_dtype");
  fsdp.mp_policy.cast_forward_inputs = table.boolean("cast_forward_inputs", true);
  fsdp.offloads = table.word("offload", "none", {"none", "cpu"}) == "cpu";
  fsdp.shards_largest_dim =
      table.word("shard_placement", "default", {"default", "largest"}) == "largest";
  read_ignored(table, model, fsdp);
  read_settings(table, model, fsdp.settings);
  if (fsdp.mesh.size() == 2 && fsdp.settings.sync == SyncMode::all_reduce_last &&
      fsdp.settings.backward_end != BackwardEnd::automatic)
    table.reject_value("finalize_backward", "automatic where sync is all_reduce_last",
                       std::string(to_string(fsdp.settings.backward_end)));
  table.finish();
  return fsdp;
}

std::int64_t shard_count(const GateFsdp& fsdp, const GateLayout& layout) {
  std::int64_t shards = layout.shape[layout.index_of(fsdp.mesh.back())];
  if (!fsdp.sequence_dim.empty()) shards *= layout.shape[layout.index_of(fsdp.sequence_dim)];
  return shards;
}

std::int64_t largest_dim(const Shape& shape, std::int64_t shards) {
  std::int64_t best = 0;
  for (std::size_t dim = 1; dim < shape.size(); ++dim)
    if (shape[dim] % shards == 0 && shape[dim] > shape[std::size_t(best)]) best = std::int64_t(dim);
  return best;
}

FsdpPlan fsdp_plan(const GateFsdp& fsdp, const GateLayout& layout, const nn::ModelNode& model) {
  FsdpPlan plan;
  plan.world = numel(layout.shape);
  plan.mesh = MeshPlan{layout.shape, layout.names, fsdp.mesh};
  if (!fsdp.sequence_dim.empty()) plan.mesh->shard = {fsdp.sequence_dim};
  plan.offload = fsdp.offloads;
  WrapPlan usual;
  usual.mp_policy = fsdp.mp_policy;
  usual.ignored = fsdp.ignored_params;
  if (fsdp.shards_largest_dim) {
    std::int64_t shards = shard_count(fsdp, layout);
    for (const auto& [name, parameter] : shapes_of(model)->named_parameters())
      usual.shard_dims[name] = largest_dim(parameter.shape(), shards);
  }
  WrapPlan root = usual;
  root.modules = {""};
  for (const std::vector<std::string>& names : wrapped_modules(fsdp, model)) {
    plan.wraps.push_back(usual);
    plan.wraps.back().modules = names;
    plan.wraps.back().reshard_after_forward = fsdp.reshard_after_forward;
  }
  if (plan.wraps.empty()) root.reshard_after_forward = fsdp.reshard_after_forward;
  plan.wraps.push_back(root);
  return plan;
}

}  // namespace simmesh
