#include "gate/compose/layouts.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <utility>

#include "core/check/join_text.h"
#include "gate/fit.h"

namespace simmesh {

namespace {

// Candidate is a layout that may not fit.
struct Candidate {
  std::vector<std::string> words;  // of the name
  std::vector<std::string> forms;
  toml::array sizes, names;
  toml::table parallel;
  std::string row_dim;  // that of the last form over rows; empty for none

  void add_dim(const std::string& name, std::int64_t size) {
    sizes.push_back(size);
    names.push_back(name);
  }
  bool has(std::string_view form) const {
    return std::find(forms.begin(), forms.end(), form) != forms.end();
  }
};

// Sizes are the ranks of each form; 1 for a form that the layout doesn't have.
struct Sizes {
  std::int64_t rows = 1, expert = 1, context = 1, tensor = 1, pipeline = 1;
};

using Candidates = std::vector<Candidate>;

// Returns the candidates of a form beside each of those before it.
Candidates with_form(const Candidates& before,
                     const std::function<void(const Candidate& one, Candidates& result)>& add) {
  Candidates result;
  for (const Candidate& one : before) add(one, result);
  return result;
}

void add_row_forms(const Candidate& before, std::int64_t ranks, Candidates& result) {
  if (ranks == 1) return result.push_back(before);
  auto add = [&](const std::string& form, const std::string& key, toml::table table) {
    Candidate next = before;
    next.words.push_back(fmt::format("{}={}", form, ranks));
    next.forms.push_back(form);
    next.add_dim("dp", ranks);
    next.row_dim = "dp";
    table.insert("mesh", "dp");
    next.parallel.insert(key, std::move(table));
    result.push_back(std::move(next));
  };
  add("replicate", "replicate", {});
  add("fsdp", "fsdp", {});
  for (std::int64_t replicas = 2; replicas < ranks; ++replicas) {
    if (ranks % replicas != 0) continue;
    Candidate next = before;
    next.words.push_back(fmt::format("hsdp={}x{}", replicas, ranks / replicas));
    next.forms.emplace_back("hsdp");
    next.add_dim("replicas", replicas);
    next.add_dim("dp", ranks / replicas);
    next.row_dim = "dp";
    next.parallel.insert("fsdp", toml::table{{"mesh", toml::array{"replicas", "dp"}}});
    result.push_back(std::move(next));
  }
  for (std::int64_t stage = 1; stage <= 3; ++stage)
    add(fmt::format("zero{}", stage), "zero", toml::table{{"stage", stage}});
}

void add_context_forms(const Candidate& before, std::int64_t ranks, Candidates& result) {
  if (ranks == 1) return result.push_back(before);
  for (const char* method : {"ring", "all_gather", "ulysses"})
    for (const char* order : {"head_tail", "contiguous"}) {
      Candidate next = before;
      next.words.push_back(fmt::format("context={}:{}:{}", ranks, method, order));
      next.forms.emplace_back("context");
      next.add_dim("cp", ranks);
      next.parallel.insert("context",
                           toml::table{{"mesh", "cp"}, {"method", method}, {"order", order}});
      result.push_back(std::move(next));
    }
}

void add_tensor_forms(const Candidate& before, std::int64_t ranks, Candidates& result) {
  if (ranks == 1) return result.push_back(before);
  for (bool is_sequence : {false, true}) {
    Candidate next = before;
    next.words.push_back(fmt::format("tensor={}{}", ranks, is_sequence ? ":sequence" : ""));
    next.forms.emplace_back("tensor");
    if (is_sequence) next.forms.emplace_back("sequence");
    next.add_dim("tp", ranks);
    next.parallel.insert("tensor", toml::table{{"mesh", "tp"}, {"sequence_parallel", is_sequence}});
    result.push_back(std::move(next));
  }
}

// Gives the experts a dim. The words of experts come after those of rows.
void add_experts_over(const Candidate& before, const std::string& dim, const std::string& word,
                      Candidates& result) {
  for (bool splits : {true, false}) {
    bool is_choice = before.has("tensor") && dim != "tp";
    if (!splits && !is_choice) continue;
    Candidate next = before;
    next.words.insert(next.words.begin() + (before.row_dim.empty() ? 0 : 1),
                      word + (splits ? "" : ":whole"));
    next.forms.emplace_back("expert");
    toml::table expert{{"mesh", dim}};
    if (!splits) expert.insert("tensor_parallel", false);
    next.parallel.insert("expert", std::move(expert));
    result.push_back(std::move(next));
  }
}

void add_expert_forms(const Candidate& before, std::int64_t ranks, Candidates& result) {
  if (ranks > 1) return add_experts_over(before, "ep", fmt::format("expert={}", ranks), result);
  result.push_back(before);
  if (!before.row_dim.empty())
    add_experts_over(before, before.row_dim, fmt::format("expert@{}", before.forms[0]), result);
  if (before.has("context")) add_experts_over(before, "cp", "expert@context", result);
  if (before.has("tensor")) add_experts_over(before, "tp", "expert@tensor", result);
}

// Puts stages over the outermost dim, in the order of each schedule.
void add_pipeline_forms(const Candidate& before, std::int64_t ranks, Candidates& result) {
  if (ranks == 1) return result.push_back(before);
  for (const std::string& schedule : pipeline_schedules()) {
    Candidate next = before;
    next.words.insert(next.words.begin(), fmt::format("pipeline={}:{}", ranks, schedule));
    next.forms.emplace_back("pipeline");
    next.forms.push_back(schedule);
    next.sizes.insert(next.sizes.begin(), ranks);
    next.names.insert(next.names.begin(), "pp");
    next.parallel.insert("pipeline", toml::table{{"mesh", "pp"}, {"schedule", schedule}});
    result.push_back(std::move(next));
  }
}

Candidates beside_pipeline(const Sizes& sizes, bool has_experts) {
  Candidates all(1);
  all = with_form(
      all, [&](const Candidate& one, Candidates& to) { add_row_forms(one, sizes.rows, to); });
  if (sizes.expert > 1)
    for (Candidate& one : all) one.add_dim("ep", sizes.expert);
  all = with_form(all, [&](const Candidate& one, Candidates& to) {
    add_context_forms(one, sizes.context, to);
  });
  all = with_form(
      all, [&](const Candidate& one, Candidates& to) { add_tensor_forms(one, sizes.tensor, to); });
  if (!has_experts) return all;
  return with_form(
      all, [&](const Candidate& one, Candidates& to) { add_expert_forms(one, sizes.expert, to); });
}

Candidates candidates_of(const Sizes& sizes, bool has_experts) {
  return with_form(beside_pipeline(sizes, has_experts), [&](const Candidate& one, Candidates& to) {
    add_pipeline_forms(one, sizes.pipeline, to);
  });
}

// Returns all splits of a number of ranks among the forms.
std::vector<Sizes> splits_of(std::int64_t ranks, bool has_experts) {
  std::vector<Sizes> splits;
  auto add = [&](Sizes sizes, std::int64_t left) {
    for (sizes.rows = 1; sizes.rows <= left; ++sizes.rows)
      for (sizes.expert = 1; sizes.expert <= (has_experts ? left / sizes.rows : 1); ++sizes.expert)
        for (sizes.context = 1; sizes.context <= left / sizes.rows / sizes.expert;
             ++sizes.context) {
          sizes.tensor = left / sizes.rows / sizes.expert / sizes.context;
          if (sizes.rows * sizes.expert * sizes.context * sizes.tensor == left)
            splits.push_back(sizes);
        }
  };
  for (std::int64_t pipeline = 1; pipeline <= ranks; ++pipeline)
    if (ranks % pipeline == 0) add({.pipeline = pipeline}, ranks / pipeline);
  return splits;
}

class Enumeration {
 public:
  explicit Enumeration(const GateFile& gate)
      : gate_(gate), node_(model_node(gate.model, gate.model_use())) {}

  void add(Candidate candidate) {
    ComposeLayout layout{join_text(candidate.words, "+"), candidate.forms, {}};
    toml::table table{{"mesh", std::move(candidate.sizes)},
                      {"names", std::move(candidate.names)},
                      {"parallel", std::move(candidate.parallel)}};
    ExpectUse use = {gate_.mesh,        gate_.parallel, node_,
                     gate_.train.steps, gate_.world,    gate_.device.has_value()};
    try {
      layout.run = read_other_run(GateTable(table, layout.name), use);
      layout.run.parallel.checkpoint_blocks = gate_.parallel.checkpoint_blocks;
    } catch (const BadGate& error) {
      return refuse(layout.name, std::string(error.message()));
    }
    std::int64_t parts = layout.run.parallel.parts(layout.run.layout);
    if (!gives_rows({gate_.data.batch, gate_.train.micro_batches, parts}))
      return refuse(layout.name, fmt::format("expected rows for each of {} ranks in each of {} "
                                             "micro-batches, got a batch of {}",
                                             parts, gate_.train.micro_batches, gate_.data.batch));
    if (layout.run.parallel.tensor && layout.run.parallel.tensor->form.sequence_parallel &&
        gate_.model.tied_head)
      return refuse(layout.name, "expected a model without tied_head for sequence parallelism");
    if (!divides_positions(gate_.data.input.front(), layout.run.parallel, layout.run.layout))
      return refuse(layout.name,
                    "expected positions that the ranks of tensor divide, for sequence "
                    "parallelism");
    if (std::string reason = why_no_stages(layout.run); !reason.empty())
      return refuse(layout.name, reason);
    result_.fitting.push_back(std::move(layout));
  }

  ComposeLayouts all() {
    auto comes_first = [](const ComposeLayout& a, const ComposeLayout& b) {
      return std::pair(a.ranks(), a.forms.size()) < std::pair(b.ranks(), b.forms.size());
    };
    std::stable_sort(result_.fitting.begin(), result_.fitting.end(), comes_first);
    return std::move(result_);
  }

  bool has_experts() const { return has_kind(node_, "moe"); }

 private:
  void refuse(const std::string& name, std::string reason) {
    result_.misfits.push_back({name, std::move(reason)});
  }

  // Nothing else of a layout matters for its pipeline.
  const std::string& why_no_stages(const GateSameAs& run) {
    static const std::string none;
    if (!run.parallel.pipeline) return none;
    std::int64_t ranks = run.layout.shape[run.layout.index_of(run.parallel.pipeline->mesh)];
    auto [known, is_new] = reasons_.try_emplace({run.parallel.pipeline->schedule, ranks});
    if (is_new)
      known->second =
          why_no_pipeline({gate_.model, gate_.data, gate_.train, node_}, run.parallel, run.layout);
    return known->second;
  }

  const GateFile& gate_;
  nn::ModelNode node_;
  std::map<std::pair<std::string, std::int64_t>, std::string> reasons_;
  ComposeLayouts result_;
};

}  // namespace

const std::vector<std::string>& layout_forms() {
  static const std::vector<std::string> forms = [] {
    std::vector<std::string> all = {"replicate", "fsdp",   "hsdp",     "zero1",  "zero2",   "zero3",
                                    "context",   "tensor", "sequence", "expert", "pipeline"};
    for (const std::string& schedule : pipeline_schedules()) all.push_back(schedule);
    return all;
  }();
  return forms;
}

ComposeLayouts enumerate_layouts(const GateFile& gate, RanksRange ranks) {
  Enumeration enumeration(gate);
  bool has_experts = enumeration.has_experts();
  for (std::int64_t count = ranks.min; count <= ranks.max; ++count)
    for (const Sizes& sizes : splits_of(count, has_experts))
      for (Candidate& candidate : candidates_of(sizes, has_experts))
        enumeration.add(std::move(candidate));
  return enumeration.all();
}

}  // namespace simmesh
