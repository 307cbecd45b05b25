#include "training/pipelined/stage_plan.h"

#include <algorithm>
#include <numeric>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh {

namespace {

constexpr const char* plan_source = "training/stage_plan";

bool has_block(const nn::ModelNode& node) {
  return node.kind == "block" || std::any_of(node.children.begin(), node.children.end(), has_block);
}

// True for a container that only calls its children in turn.
bool is_plain(const nn::ModelNode& node) {
  return node.kind == "sequential" && node.fields.empty();
}

void add_parts(const nn::ModelNode& node, const std::string& path,
               std::vector<StagePlan::Part>& parts) {
  for (const nn::ModelNode& child : node.children) {
    std::string name = path.empty() ? child.name : path + "." + child.name;
    if (is_plain(child) && has_block(child))
      add_parts(child, name, parts);
    else
      parts.push_back({std::move(name), child, 0});
  }
}

std::vector<StagePlan::Part> parts_of(const nn::ModelNode& model) {
  std::vector<StagePlan::Part> parts;
  if (is_plain(model)) add_parts(model, "", parts);
  return parts;
}

bool has_parameters(const StagePlan::Part& part) {
  return !nn::build(part.node, {.device = nn::Device::meta})->parameters().empty();
}

// Returns for each part whether it is a block.
std::vector<bool> blocks_among(const nn::ModelNode& model,
                               const std::vector<StagePlan::Part>& parts) {
  bool has_blocks = has_block(model);
  std::vector<bool> blocks;
  for (const StagePlan::Part& part : parts)
    blocks.push_back(has_blocks ? has_block(part.node) : has_parameters(part));
  return blocks;
}

bool is_at_or_below(const std::string& path, const std::string& above) {
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '.');
}

}  // namespace

std::size_t StagePlan::index_of(const std::string& path) const {
  auto found = std::find_if(parts.begin(), parts.end(),
                            [&](const Part& part) { return is_at_or_below(path, part.path); });
  SIMMESH_CHECK(found != parts.end(), "expected a path in a part of the model, got '{}'", path);
  return std::size_t(found - parts.begin());
}

bool StagePlan::has(std::int64_t stage, const std::string& path) const {
  return path.empty() || std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
           return part.stage == stage &&
                  (is_at_or_below(path, part.path) || is_at_or_below(part.path, path));
         });
}

std::int64_t block_count(const nn::ModelNode& model) {
  std::vector<bool> blocks = blocks_among(model, parts_of(model));
  return std::count(blocks.begin(), blocks.end(), true);
}

std::vector<std::int64_t> even_cut(std::int64_t blocks, std::int64_t stages) {
  std::vector<std::int64_t> cut;
  for (std::int64_t stage = 0; stage < stages; ++stage)
    cut.push_back(blocks / stages + (stage < blocks % stages ? 1 : 0));
  return cut;
}

StagePlan plan_stages(const nn::ModelNode& model, const std::vector<std::int64_t>& blocks) {
  StagePlan plan{model, std::int64_t(blocks.size()), parts_of(model)};
  std::vector<bool> is_block = blocks_among(model, plan.parts);
  std::int64_t all = std::count(is_block.begin(), is_block.end(), true);
  if (std::accumulate(blocks.begin(), blocks.end(), std::int64_t(0)) != all)
    raise(ErrorKind::value_error, plan_source,
          "expected stages that have the {} blocks of the model, got {}", all,
          join_text(blocks, " + "));
  std::int64_t stage = 0, left = blocks.front(), done = 0;
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    if (is_block[i]) {
      for (; left == 0; left = blocks[std::size_t(stage)]) ++stage;
      --left;
      ++done;
    } else if (done == all) {
      stage = plan.stages - 1;
    }
    plan.parts[i].stage = stage;
  }
  for (stage = 0; stage < plan.stages; ++stage)
    if (blocks[std::size_t(stage)] == 0 &&
        std::none_of(plan.parts.begin(), plan.parts.end(), [stage](const StagePlan::Part& part) {
          return part.stage == stage && has_parameters(part);
        }))
      raise(ErrorKind::value_error, plan_source,
            "expected a block, or parameters before the first or after the last one, in each "
            "stage, got none in stage {}",
            stage);
  return plan;
}

}  // namespace simmesh
