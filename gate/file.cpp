#include "gate/file.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "core/check/join_text.h"
#include "core/check/read_file.h"
#include "core/engine/spread/socket_processes.h"
#include "core/nn/moe.h"
#include "gate/fit.h"
#include "gate/tables/muon.h"
#include "gate/tables/zero_file.h"
#include "training/router_needs.h"

namespace simmesh {

namespace {

constexpr std::int64_t whole_max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t length_max = 1 << 20;

OptimizerSpec read_optimizer(GateTable& table) {
  constexpr GateTable::NumberRange positive{0, 1e6}, share{0, 1};
  std::string kind = table.word("kind", "sgd", {"sgd", "adam", "adamw", "muon"});
  if (kind == "muon") return read_muon(table);
  if (kind == "sgd") {
    optim::SgdOptions options{.lr = table.number("lr", 0.01, positive)};
    options.momentum = table.number("momentum", 0.0, share);
    options.dampening = table.number("dampening", 0.0, share);
    options.weight_decay = table.number("weight_decay", 0.0, positive);
    options.nesterov = table.boolean("nesterov", false);
    table.finish();
    if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
      table.reject("nesterov", "a momentum and no dampening together with nesterov");
    return options;
  }
  AdamSpec spec{.decay =
                    kind == "adam" ? optim::WeightDecay::added : optim::WeightDecay::decoupled};
  spec.options.lr = table.number("lr", spec.options.lr, positive);
  std::vector<double> betas = table.numbers("betas");
  if (table.has("betas") &&
      (betas.size() != 2 || betas[0] < 0 || betas[0] >= 1 || betas[1] < 0 || betas[1] >= 1))
    table.reject_value("betas", "two numbers from 0 to below 1", join_text(betas, " "));
  if (!betas.empty()) spec.options.beta1 = betas[0], spec.options.beta2 = betas[1];
  spec.options.eps = table.number("eps", spec.options.eps, positive);
  spec.options.weight_decay = table.number("weight_decay", kind == "adamw" ? 0.01 : 0.0, positive);
  table.finish();
  return spec;
}

void read_train(GateTable& top, GateFile& gate) {
  bool classes = gate.model.has_blocks();
  gate.train.loss = classes ? LossKind::cross_entropy : LossKind::mse;
  auto table = top.table("train");
  if (!table) return;
  gate.train.steps = table->integer("steps", gate.train.steps, {1, 10'000});
  gate.train.micro_batches = table->integer("micro_batches", 1, {1, 10'000});
  if (auto optimizer = table->table("optimizer")) gate.train.optimizer = read_optimizer(*optimizer);
  if (auto schedule = table->table("lr_schedule"))
    gate.train.lr_schedule = read_gate_learning_rate(*schedule);
  gate.train.clip_grad_norm = table->number("clip_grad_norm", 0.0, {0, 1e12});
  std::vector<std::string> losses = {"mse", "dot"};
  if (classes) losses = {"cross_entropy"};
  if (gate.model.is_given_by_nodes()) losses.emplace_back("cross_entropy");
  gate.train.loss =
      *loss_from_string(table->word("loss", std::string(to_string(gate.train.loss)), losses));
  table->finish();
}

// Sets the sizes of a row, which follow from those of a model of a known kind.
void set_rows(GateFile& gate) {
  GateData& data = gate.data;
  if (gate.model.has_blocks()) {
    data.input = data.target = {data.sequence};
    data.vocabulary = data.classes = gate.model.vocabulary;
    return;
  }
  data.input = data.target = Shape();
  if (data.sequence > 0) data.input = data.target = {data.sequence};
  data.input.push_back(gate.model.width);
  data.target.push_back(gate.model.kind == ModelKind::mlp ? gate.model.out : gate.model.width);
}

void read_rows_of_nodes(GateTable& table, GateFile& gate) {
  GateData& data = gate.data;
  data.input = table.sizes("input", {16}, {1, length_max});
  data.vocabulary = table.integer("vocabulary", 0, {0, length_max});
  data.target = table.sizes("target", data.input, {1, length_max});
  data.classes =
      gate.train.loss == LossKind::cross_entropy
          ? table.integer("classes", std::max<std::int64_t>(data.vocabulary, 1), {1, length_max})
          : 0;
}

void read_data(GateTable& top, GateFile& gate) {
  static const toml::table none;
  GateData& data = gate.data;
  auto given = top.table("data");
  GateTable table = given ? *given : GateTable(none, gate.file, "data");
  bool has_tokens = gate.model.has_blocks();
  data.seed = std::uint64_t(table.integer("seed", std::int64_t(data.seed), {0, whole_max}));
  data.batch = table.integer("batch", data.batch, {1, length_max});
  data.rows = table.integer("rows", data.rows, {0, length_max});
  if (gate.model.is_given_by_nodes()) {
    read_rows_of_nodes(table, gate);
    has_tokens = data.vocabulary > 0;
  } else {
    data.sequence = table.integer("sequence", has_tokens ? 8 : 0, {has_tokens ? 1 : 0, length_max});
    set_rows(gate);
  }
  std::vector<std::string> rules = {"unit", "wide", "small", "positive"};
  if (has_tokens) rules = {"index"};
  data.rule = rule_from_string(table.word("rule", rules.front(), rules));
  table.finish();
  const std::int64_t elements_max = gate.world.elements_max();
  std::int64_t rows_max = elements_max;
  for (std::int64_t size : data.input) rows_max /= size;
  std::int64_t targets_max = elements_max;
  for (std::int64_t size : data.target) targets_max /= size;
  if (data.rows > std::min(rows_max, targets_max))
    table.reject_value("rows", fmt::format("at most {} elements in the data set", elements_max),
                       std::to_string(data.rows));
  if (data.batch > std::min(rows_max, targets_max) / gate.train.steps)
    table.reject_value("batch", fmt::format("at most {} elements in all steps", elements_max),
                       fmt::format("{} rows in each of {} steps", data.batch, gate.train.steps));
}

void check_split(GateTable& top, const GateFile& gate) {
  std::int64_t micro_batches = gate.train.micro_batches;
  for (const GateSameAs& other : gate.expect.same_as)
    if (std::int64_t parts = other.parallel.parts(other.layout);
        !gives_rows({gate.data.batch, micro_batches, parts}))
      throw BadGate(other.place,
                    fmt::format("key 'expect.same_as': expected rows for each of {} ranks in each "
                                "of {} micro-batches, got {}",
                                parts, micro_batches, other.name()));
  if (gate.checkpoint) {
    const GateSameAs& other = gate.checkpoint->resume_on;
    if (std::int64_t parts = other.parallel.parts(other.layout);
        !gives_rows({gate.data.batch, micro_batches, parts}))
      top.table("checkpoint")
          ->reject_value("resume_on",
                         fmt::format("rows for each of {} ranks in each of {} micro-batches", parts,
                                     micro_batches),
                         fmt::format("a batch of {}", gate.data.batch));
  }
  if (gives_rows({gate.data.batch, micro_batches, gate.parts()})) return;
  auto data = top.table("data");
  const GateTable& blamed = data ? *data : top;
  blamed.reject_value(data ? "batch" : "data.batch",
                      fmt::format("rows for each of {} ranks in each of {} micro-batches",
                                  gate.parts(), micro_batches),
                      fmt::format("{}, which leaves some of them without rows", gate.data.batch));
}

// Checks gates with sequence parallelism, which needs equal parts of a sequence and cuts the head.
void check_sequence(GateTable& top, const GateFile& gate) {
  auto check = [&](const GateParallel& parallel, const GateLayout& layout) {
    if (!parallel.tensor || !parallel.tensor->form.sequence_parallel) return;
    if (gate.model.tied_head)
      top.table("model")->reject("tied_head", "false with tensor.sequence_parallel");
    std::int64_t ranks = layout.shape[layout.index_of(parallel.tensor->mesh)];
    if (divides_positions(gate.data.input.front(), parallel, layout)) return;
    top.reject_value(gate.model.is_given_by_nodes() ? "data.input" : "data.sequence",
                     fmt::format("positions that the {} ranks of tensor.mesh divide{}, with "
                                 "tensor.sequence_parallel",
                                 ranks, parallel.context ? " on each rank of context.mesh" : ""),
                     std::to_string(gate.data.input.front()));
  };
  check(gate.parallel, gate.mesh);
  for (const GateSameAs& other : gate.expect.same_as) check(other.parallel, other.layout);
  if (gate.checkpoint)
    check(gate.checkpoint->resume_on.parallel, gate.checkpoint->resume_on.layout);
}

// Checks that schedules of pipelines take the numbers of stages and of micro-batches.
void check_pipelines(GateTable& top, const GateFile& gate, const nn::ModelNode& node) {
  auto check = [&](const GateParallel& parallel, const GateLayout& layout, const std::string& place,
                   const char* key) {
    std::string reason =
        why_no_pipeline({gate.model, gate.data, gate.train, node}, parallel, layout);
    if (!reason.empty())
      throw BadGate(
          place, fmt::format("key '{}': expected a schedule that takes {} micro-batches, "
                             "got {}: {}",
                             key, gate.train.micro_batches, parallel.pipeline->schedule, reason));
  };
  if (gate.parallel.pipeline && gate.parallel.fsdp && gate.world.release == Release::v2_13)
    top.table("parallel")
        ->reject_value("pipeline",
                       "release 2.15 beside fsdp: 2.13 can't leave the end of a backward pass to "
                       "a schedule",
                       "release 2.13");
  if (gate.parallel.pipeline)
    check(gate.parallel, gate.mesh, top.table("parallel")->place_of("pipeline"),
          "parallel.pipeline");
  for (const GateSameAs& other : gate.expect.same_as)
    check(other.parallel, other.layout, other.place, "expect.same_as");
  if (gate.checkpoint)
    check(gate.checkpoint->resume_on.parallel, gate.checkpoint->resume_on.layout,
          top.table("checkpoint")->place_of("resume_on"), "checkpoint.resume_on");
}

// Returns the first rank that has each stage of the gate's pipeline, if it has one.
std::vector<RankId> ranks_of_stages(const GateFile& gate, const nn::ModelNode& node) {
  std::vector<RankId> ranks;
  if (!gate.parallel.pipeline) return ranks;
  PipelinePlan plan = pipeline_plan(
      *gate.parallel.pipeline,
      pipeline_use_of({gate.model, gate.data, gate.train, node}, gate.parallel, gate.mesh));
  std::int64_t stride = gate.mesh.stride_of(gate.parallel.pipeline->mesh);
  for (std::int64_t stage = 0; stage < plan.stages.stages; ++stage)
    ranks.push_back(RankId(plan.map.rank_of(stage) * stride));
  return ranks;
}

void check_model(const GateTable& top, const GateFile& gate) {
  try {
    training_model(gate.model, gate.model_use());
  } catch (const Error& error) {
    top.reject_value("model", "sizes and nodes that form a model",
                     fmt::format("an error: {}", error.message()));
  }
}

// Refuses dropout where a router plans a whole step, which draws by the micro-batch.
void check_routers(GateTable& top, const GateFile& gate, const nn::ModelNode& node) {
  if (!has_kind(node, "dropout")) return;
  if (!router_needs(*nn::build(node, {.device = nn::Device::meta}), gate.train.micro_batches).plan)
    return;
  top.reject_value("train.micro_batches",
                   "1 in a model with dropout, where experts have a capacity or an aux_loss",
                   std::to_string(gate.train.micro_batches));
}

// Rejects a DeepSpeed file in a run that the gate is compared with or resumed on: such a run trains
// with the gate's own keys.
void refuse_other_zero_files(GateTable& top, const GateFile& gate) {
  auto has_file = [](const GateParallel& parallel) {
    return parallel.zero && !parallel.zero->file.empty();
  };
  for (const GateSameAs& other : gate.expect.same_as)
    if (has_file(other.parallel))
      top.table("expect")->reject_value("same_as", "zero as a table", "the path of a file");
  if (gate.checkpoint && has_file(gate.checkpoint->resume_on.parallel) && !has_file(gate.parallel))
    top.table("checkpoint")->reject_value("resume_on", "zero as a table", "the path of a file");
}

// Refuses averages of a model that has neither float32 parameters nor masters.
void check_average(GateTable& top, const GateFile& gate) {
  if (!gate.checkpoint || !gate.checkpoint->contents.ema) return;
  if (gate.model.dtype == DType::float32) return;
  bool has_masters = gate.model.dtype != DType::float64 && gate.parallel.zero &&
                     gate.checkpoint->resume_on.parallel.zero;
  if (!has_masters)
    top.table("checkpoint")
        ->reject("ema", "no such key where parameters are neither float32 nor have masters");
}

// Refuses deferred values where a form keeps tensors of the model before they have memory.
void check_init(GateTable& top, const GateFile& gate) {
  if (!gate.model.init_on_meta) return;
  if (!gate.parallel.fsdp)
    top.table("model")->reject("init", "on_meta = false in a gate without parallel.fsdp");
  if (!gate.parallel.tensor) return;
  if (!gate.world.shapes_only || gate.parallel.tensor->form.sequence_parallel)
    top.table("model")->reject("init",
                               "on_meta = false with parallel.tensor, but in a world of shapes "
                               "only without tensor.sequence_parallel");
}

// Refuses checkpoints of a ZeRO engine that has a part of the model only: the formats of ZeRO's
// checkpoints name the ranks of one group.
void check_saved_parts(GateTable& top, const GateFile& gate) {
  if (!gate.checkpoint) return;
  auto check = [&](const GateParallel& parallel, const char* key) {
    if (parallel.pipeline && gate.model.tied_head)
      top.table("checkpoint")
          ->reject_value(key, "a model without tied_head, whose copies in stages have other names",
                         "pipeline with tied_head");
    if (!parallel.zero || !(parallel.tensor || parallel.expert || parallel.pipeline)) return;
    std::string other = parallel.tensor ? "tensor" : parallel.expert ? "expert" : "pipeline";
    std::string others = parallel.pipeline ? "tensor, expert or pipeline" : "tensor or expert";
    top.table("checkpoint")
        ->reject_value(key, "a run without zero beside " + others + ", or with fsdp instead",
                       "zero beside " + other);
  };
  check(gate.parallel, "save_at");
  check(gate.checkpoint->resume_on.parallel, "resume_on");
}

// Refuses experts whose tokens depend on values. Without values ranks can't tell each other how
// many tokens they send, so each rank has to give each expert equally many.
void check_balance(GateTable& top, const GateFile& gate, const nn::Moe::Options& experts) {
  bool has_nodes = gate.model.is_given_by_nodes();
  if (!experts.router.force_load_balance)
    top.table("model")->reject(has_nodes ? "nodes" : "kind",
                               "force_load_balance = true for experts in a gate with "
                               "world.shapes_only: else which tokens an expert gets depends on "
                               "values");
  bool drops = experts.capacity_factor > 0 && experts.router.drop != nn::DropOrder::none;
  if (drops && experts.capacity_factor < 1)
    top.table("model")->reject_value(has_nodes ? "nodes" : "capacity_factor",
                                     "a capacity_factor of 1 or more in a gate with "
                                     "world.shapes_only, where no token can be dropped",
                                     fmt::format("{}", experts.capacity_factor));
  const Shape& row = gate.data.input;
  std::int64_t positions = numel(row) / (gate.data.vocabulary > 0 ? 1 : row.back());
  std::int64_t pieces = gate.train.micro_batches * gate.parts();
  // The numbers of a rank's tokens follow one another: in all its rows, or in a piece of a row.
  std::int64_t run = gate.data.batch / pieces * positions;
  if (const auto& context = gate.parallel.context) {
    std::int64_t cuts = gate.mesh.shape[gate.mesh.index_of(context->mesh)];
    if (context->style.order == SequenceOrder::head_tail) cuts *= 2;
    run = positions % cuts == 0 ? positions / cuts : 0;
  }
  if (gate.data.batch % pieces == 0 && run > 0 && run * experts.top_k % experts.experts == 0)
    return;
  auto data = top.table("data");
  const GateTable& blamed = data ? *data : top;
  blamed.reject_value(
      data ? "batch" : "data.batch",
      fmt::format("equally many tokens for each of the {} experts, of each rank in "
                  "each micro-batch{}, in a gate with world.shapes_only",
                  experts.experts, gate.parallel.context ? " and each piece of a sequence" : ""),
      fmt::format("a batch of {} for {} ranks and {} micro-batches", gate.data.batch, gate.parts(),
                  gate.train.micro_batches));
}

// Refuses what a world of shapes only, or a folded one, can't do.
void check_world(GateTable& top, const GateFile& gate) {
  if (gate.world.seats_are_processes && gate.ranks() > SocketProcesses::processes_max)
    top.table("world")->reject_value(
        "seats", fmt::format("\"fibers\" for more than {} ranks", SocketProcesses::processes_max),
        fmt::format("\"processes\" for {}", gate.ranks()));
  if (!gate.world.shapes_only) return;
  constexpr std::string_view needs_data = "no such key in a gate with world.shapes_only";
  nn::ModelNode node = model_node(gate.model, gate.model_use());
  if (has_kind(node, "moe")) {
    nn::ModulePtr shapes = nn::build(node, {.device = nn::Device::meta});
    for (const auto& [path, module] : shapes->named_modules())
      if (auto* moe = dynamic_cast<nn::Moe*>(module)) check_balance(top, gate, moe->options());
  }
  auto faults = top.table("faults");
  if (faults && faults->has("flip_bit")) faults->reject("flip_bit", needs_data);
  if (gate.checkpoint)
    top.reject("checkpoint", "no such table in a gate with world.shapes_only, which has no data");
  if (!gate.world.fold) return;
  if (!gate.faults.empty())
    top.reject("faults", "no such table in a gate with world.fold, where most ranks don't run");
}

}  // namespace

ModelUse GateFile::model_use() const {
  return {.sequence = std::max<std::int64_t>(data.sequence, 1),
          .checkpoint_blocks = parallel.checkpoint_blocks,
          .elements_max = world.elements_max()};
}

GateFile GateFile::run_as(const GateSameAs& other) const {
  GateFile gate = *this;
  gate.mesh = other.layout;
  gate.parallel = other.parallel;
  gate.expect = GateExpect();
  gate.faults.clear();
  gate.checkpoint.reset();
  return gate;
}

GateFile gate_from_text(std::string_view text, const std::string& file) {
  return gate_from_table(parse_toml(text, file), file);
}

GateFile gate_from_table(const toml::table& parsed, const std::string& file) {
  GateTable top(parsed, file);
  GateFile gate;
  gate.file = file;
  gate.title = top.text("title", "");
  gate.mesh_place = top.place();
  for (const char* key : {"mesh", "world", "model", "data", "parallel", "train", "arithmetic",
                          "expect", "faults", "device", "checkpoint"})
    top.has(key);
  top.finish();
  if (auto world = top.table("world")) gate.world = read_gate_world(*world);
  if (auto mesh = top.table("mesh")) {
    gate.mesh = read_gate_layout(*mesh, "shape", gate.world.ranks_max());
    gate.mesh_place = mesh->place_of("shape");
    mesh->finish();
  }
  if (auto model = top.table("model")) gate.model = read_gate_model(*model);
  read_train(top, gate);
  read_data(top, gate);
  check_model(top, gate);
  nn::ModelNode node = model_node(gate.model, gate.model_use());
  check_routers(top, gate, node);
  if (auto parallel = top.table("parallel")) {
    gate.parallel = read_gate_parallel(*parallel, gate.mesh, node);
    if (gate.parallel.zero)
      take_zero_file(
          top, {gate.file, gate.mesh, gate.model, *gate.parallel.zero, gate.data, gate.train});
  }
  if (auto arithmetic = top.table("arithmetic")) {
    gate.arithmetic = arithmetic->word(
        "mode", gate.arithmetic,
        {"canonical", "exact", "rank_order", "as_nccl_ring", "as_nccl_tree", "as_gloo_ring"});
    arithmetic->finish();
  }
  if (auto device = top.table("device")) gate.device = read_gate_device(*device);
  ExpectUse use = {gate.mesh,        gate.parallel, node,
                   gate.train.steps, gate.world,    gate.device.has_value()};
  if (auto expect = top.table("expect")) gate.expect = read_gate_expect(*expect, use);
  if (auto checkpoint = top.table("checkpoint"))
    gate.checkpoint = read_gate_checkpoint(*checkpoint, use);
  refuse_other_zero_files(top, gate);
  check_split(top, gate);
  check_sequence(top, gate);
  check_pipelines(top, gate, node);
  if (auto faults = top.table("faults"))
    gate.faults =
        read_gate_faults(*faults, {gate.ranks(), gate.train.steps, ranks_of_stages(gate, node)});
  check_saved_parts(top, gate);
  check_init(top, gate);
  check_average(top, gate);
  check_world(top, gate);
  return gate;
}

GateFile read_gate(const std::string& path) {
  return gate_from_text(
      read_file(
          {.where = "gate/file", .what = "a gate file", .path = path, .bytes_max = gate_bytes_max}),
      path);
}

}  // namespace simmesh
