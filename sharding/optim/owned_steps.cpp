#include "sharding/optim/owned_steps.h"

#include <algorithm>
#include <gsl/util>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "sharding/dtensor/local_boxes.h"
#include "sharding/optim/box_exchange.h"

namespace simmesh {

namespace {

Tensor box_of(Tensor tensor, DimSpan offset, DimSpan shape) {
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    tensor = tensor.narrow({std::int64_t(dim), offset[dim], shape[dim]});
  return tensor;
}

// Overlap is what a piece and a block have in common.
struct Overlap {
  Shape shape;
  Dims in_piece;
  Dims in_block;
};

std::optional<Overlap> overlap_of(const LocalBox& box, const MatrixBlock& block) {
  Overlap overlap;
  for (std::size_t dim = 0; dim < block.shape.size(); ++dim) {
    std::int64_t start = std::max(box.global_offset[dim], block.offset[dim]);
    std::int64_t end =
        std::min(box.global_offset[dim] + box.shape[dim], block.offset[dim] + block.shape[dim]);
    if (start >= end) return std::nullopt;
    overlap.shape.push_back(end - start);
    overlap.in_piece.push_back(start - box.global_offset[dim] + box.local_offset[dim]);
    overlap.in_block.push_back(start - block.offset[dim]);
  }
  return overlap;
}

// OwnedPart is a parameter with this rank's pieces.
struct OwnedPart {
  std::size_t index = 0;
  DTensorSpec spec;
  std::int64_t steps = 0;  // before this one
  Tensor parameter = {};
  Tensor gradient = {};
  std::map<std::string, Tensor> state = {};  // pieces, or whole where it isn't like the parameter
  std::vector<std::vector<LocalBox>> boxes = {};  // by member
};

// OwnedTask is the step of a block; the tensors are whole, and defined on the owner.
struct OwnedTask {
  std::size_t part;
  MatrixBlock block;
  std::int64_t owner;
  optim::Optimizer::WholeTensors whole = {};
};

std::vector<Dims> coordinates_of(const Shape& mesh) {
  std::vector<Dims> coordinates;
  Dims index(mesh.size(), 0);
  do coordinates.push_back(index);
  while (next_index(index, mesh));
  return coordinates;
}

Tensor gradient_piece(const Tensor& gradient, const DTensorSpec& spec) {
  DTensor distributed = DTensor::of(gradient.detach());
  if (distributed.placements() != spec.placements())
    distributed = distributed.redistribute(spec.placements(), {.order = spec.sharding.order});
  return distributed.local();
}

}  // namespace

// MeshStep is the part of a step that concerns the parameters on one mesh.
struct OwnedSteps::MeshStep {
  OwnedSteps& all;
  optim::Optimizer& optimizer;
  CallSite site;
  ProcessGroup group;
  std::vector<Dims> coordinates;  // by member
  std::vector<OwnedPart> parts = {};
  std::vector<OwnedTask> tasks = {};

  MeshStep(OwnedSteps& owned, const DTensorSpec& spec, const CallSite& caller)
      : all(owned),
        optimizer(*owned.optimizer_),
        site(caller),
        group(spec.groups->whole()),
        coordinates(coordinates_of(spec.mesh().shape())) {}

  bool is_own(std::int64_t member) const { return member == group.rank(); }

  // Adds a parameter; without a gradient for moves of its state alone.
  void add(std::size_t index, const Tensor& gradient) {
    NoGrad mode;
    const Tensor& parameter = optimizer.parameters()[index];
    OwnedPart part{.index = index,
                   .spec = DTensor::of(parameter.detach()).spec(),
                   .steps = optimizer.steps(index),
                   .parameter = parameter.local_part()};
    if (gradient.is_defined()) part.gradient = gradient_piece(gradient, part.spec);
    part.state = optimizer.state(index);
    for (const std::string& name : optimizer.state_names(index))
      if (!part.state.contains(name)) {
        Ledger::Category category(MemoryCategory::optimizer_state);
        part.state[name] = optimizer.new_state(index, name);
      }
    for (const Dims& coordinate : coordinates)
      part.boxes.push_back(local_boxes(part.spec, coordinate));
    parts.push_back(std::move(part));
  }

  bool is_like_parameter(const OwnedPart& part, const std::string& name) const {
    return optimizer.is_state_like_parameter(part.index, name);
  }

  std::vector<MatrixBlock> blocks_of(const OwnedPart& part) const {
    bool is_cut = part.spec.shape.size() == 2 && !all.options_.block.empty();
    return matrix_blocks(part.index, part.spec.shape, is_cut ? all.options_.block : Shape());
  }

  void choose_owners() {
    std::vector<MatrixBlock> blocks;
    for (std::size_t i = 0; i < parts.size(); ++i)
      for (const MatrixBlock& block : blocks_of(parts[i])) {
        blocks.push_back(block);
        tasks.push_back({.part = i, .block = block, .owner = 0});
      }
    std::vector<std::int64_t> owners = block_owners(blocks, all.options_.rule, group.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].owner = owners[i];
      all.last_step_.push_back({blocks[i], owners[i]});
    }
  }

  // True if a member sends its piece to the owner: of replicas, those beside the owner do.
  bool is_beside(const OwnedPart& part, std::int64_t member, std::int64_t owner) const {
    for (std::size_t dim = 0; dim < part.spec.placements().size(); ++dim)
      if (!part.spec.placements()[dim].splits() &&
          coordinates[std::size_t(member)][dim] != coordinates[std::size_t(owner)][dim])
        return false;
    return true;
  }

  enum class Way : bool { to_owner, to_pieces };

  // Moves the pieces of one tensor of a block, between those who hold them and a member that has
  // the block whole.
  void move_pieces(BoxExchange& exchange, const OwnedTask& task, Way way, std::int64_t holder,
                   const Tensor& piece, const Tensor& whole) const {
    const OwnedPart& part = parts[task.part];
    for (std::int64_t member = 0; member < group.size(); ++member) {
      if (way == Way::to_owner && !is_beside(part, member, holder)) continue;
      for (const LocalBox& box : part.boxes[std::size_t(member)]) {
        auto overlap = overlap_of(box, task.block);
        if (!overlap) continue;
        Tensor outer, inner;
        if (is_own(member)) outer = box_of(piece, overlap->in_piece, overlap->shape);
        if (is_own(holder)) inner = box_of(whole, overlap->in_block, overlap->shape);
        if (way == Way::to_owner)
          exchange.move({member, holder}, piece.dtype(), {.source = outer, .target = inner});
        else
          exchange.move({holder, member}, piece.dtype(), {.source = inner, .target = outer});
      }
    }
  }

  Tensor new_whole(const OwnedTask& task, DimSpan shape, DType dtype) const {
    return is_own(task.owner) ? empty(shape, dtype) : Tensor();
  }

  // Adds the moves that bring a block's state to its owner.
  void gather_state(BoxExchange& exchange, OwnedTask& task) {
    OwnedPart& part = parts[task.part];
    auto holder = all.holders_.find({part.index, task.block.offset});
    for (auto& [name, piece] : part.state) {
      bool is_like = is_like_parameter(part, name);
      Tensor whole;
      if (holder != all.holders_.end()) {
        std::int64_t from = holder->second.member;
        whole = new_whole(task, is_like ? task.block.shape : piece.shape(), piece.dtype());
        Tensor held = is_own(from) ? holder->second.state.at(name) : Tensor();
        exchange.move({from, task.owner}, piece.dtype(), {.source = held, .target = whole});
      } else if (is_like) {
        whole = new_whole(task, task.block.shape, piece.dtype());
        move_pieces(exchange, task, Way::to_owner, task.owner, piece, whole);
      } else if (is_own(task.owner)) {
        whole = piece.clone();
      }
      if (whole.is_defined()) task.whole.state[name] = whole;
    }
  }

  void gather() {
    BoxExchange exchange(group);
    Ledger::Category category(MemoryCategory::communication);
    for (OwnedTask& task : tasks) {
      OwnedPart& part = parts[task.part];
      task.whole.parameter = new_whole(task, task.block.shape, part.parameter.dtype());
      task.whole.gradient = new_whole(task, task.block.shape, part.gradient.dtype());
      move_pieces(exchange, task, Way::to_owner, task.owner, part.parameter, task.whole.parameter);
      move_pieces(exchange, task, Way::to_owner, task.owner, part.gradient, task.whole.gradient);
      gather_state(exchange, task);
    }
    exchange.run(site);
  }

  void make_steps() {
    for (OwnedTask& task : tasks) {
      if (!is_own(task.owner)) continue;
      const OwnedPart& part = parts[task.part];
      optimizer.load_state(part.index, {}, part.steps);
      optimizer.step_whole(part.index, task.whole);
    }
  }

  // Adds the moves that bring whole state, which a member holds, to the pieces of all.
  void scatter_state(BoxExchange& exchange, const OwnedTask& task, std::int64_t holder,
                     const std::map<std::string, Tensor>& whole) {
    OwnedPart& part = parts[task.part];
    for (auto& [name, piece] : part.state) {
      Tensor held = is_own(holder) ? whole.at(name) : Tensor();
      if (is_like_parameter(part, name)) {
        move_pieces(exchange, task, Way::to_pieces, holder, piece, held);
        continue;
      }
      for (std::int64_t member = 0; member < group.size(); ++member)
        exchange.move({holder, member}, piece.dtype(), {.source = held, .target = piece});
    }
  }

  void scatter() {
    BoxExchange exchange(group);
    for (OwnedTask& task : tasks) {
      OwnedPart& part = parts[task.part];
      move_pieces(exchange, task, Way::to_pieces, task.owner, part.parameter, task.whole.parameter);
      if (all.options_.state == StateLayout::owners)
        all.holders_[{part.index, task.block.offset}] = {task.owner, std::move(task.whole.state)};
      else
        scatter_state(exchange, task, task.owner, task.whole.state);
    }
    exchange.run(site);
  }

  void finish() {
    for (OwnedPart& part : parts) {
      if (all.options_.state == StateLayout::owners) part.state.clear();
      optimizer.load_state(part.index, std::move(part.state), part.steps + 1);
      part.parameter.storage()->count_change();
    }
  }

  // Brings the state of held blocks into pieces.
  void settle() {
    BoxExchange exchange(group);
    for (std::size_t i = 0; i < parts.size(); ++i)
      for (const MatrixBlock& block : blocks_of(parts[i])) {
        auto holder = all.holders_.find({parts[i].index, block.offset});
        if (holder == all.holders_.end()) continue;
        scatter_state(exchange, {.part = i, .block = block, .owner = holder->second.member},
                      holder->second.member, holder->second.state);
      }
    exchange.run(site);
    for (OwnedPart& part : parts)
      optimizer.load_state(part.index, std::move(part.state), part.steps);
  }
};

OwnedSteps::OwnedSteps(optim::Optimizer& optimizer, OwnedOptions options)
    : optimizer_(&optimizer), options_(std::move(options)) {
  if (options_.block.empty()) return;
  for (std::size_t i = 0; i < optimizer.parameters().size(); ++i) {
    if (!optimizer.needs_whole(i)) continue;
    for (const std::string& name : optimizer.state_names(i))
      if (!optimizer.is_state_like_parameter(i, name))
        raise(ErrorKind::value_error, "sharding/optim",
              "expected state like the parameter beside blocks, got {}", name);
  }
}

// Sorts parameters by their meshes, in the order in which these come; leaves out meshes that this
// rank isn't in.
std::vector<std::vector<std::size_t>> OwnedSteps::by_mesh(
    const std::vector<std::size_t>& list) const {
  std::vector<std::vector<std::size_t>> result;
  auto mesh_of = [&](std::size_t index) -> const DeviceMesh& {
    return DTensor::in(optimizer_->parameters()[index]).mesh();
  };
  for (std::size_t index : list) {
    if (!mesh_of(index).get_coordinate()) continue;
    auto known = std::find_if(result.begin(), result.end(), [&](const auto& one) {
      return mesh_of(one.front()) == mesh_of(index);
    });
    if (known == result.end())
      result.push_back({index});
    else
      known->push_back(index);
  }
  return result;
}

void OwnedSteps::step(CallSite site) {
  NoGrad mode;
  std::vector<std::size_t> owned;
  std::map<std::size_t, Tensor> gradients;
  for (std::size_t i = 0; i < optimizer_->parameters().size(); ++i) {
    Tensor parameter = optimizer_->parameters()[i], gradient = grad_of(parameter);
    if (!gradient.is_defined() || !optimizer_->needs_whole(i) || !parameter.distribution())
      continue;
    owned.push_back(i);
    gradients[i] = gradient;
    set_grad(parameter, Tensor());
  }
  auto restore = gsl::finally([&] {
    for (auto& [index, gradient] : gradients) {
      Tensor parameter = optimizer_->parameters()[index];
      set_grad(parameter, gradient);
    }
  });
  optimizer_->step();
  last_step_.clear();
  for (const std::vector<std::size_t>& list : by_mesh(owned)) {
    MeshStep one(*this, DTensor::in(optimizer_->parameters()[list.front()]).spec(), site);
    for (std::size_t index : list) one.add(index, gradients[index]);
    one.choose_owners();
    one.gather();
    one.make_steps();
    one.scatter();
    one.finish();
  }
}

void OwnedSteps::settle_state(CallSite site) {
  std::vector<std::size_t> held;
  for (const auto& [key, holder] : holders_)
    if (held.empty() || held.back() != key.parameter) held.push_back(key.parameter);
  for (const std::vector<std::size_t>& list : by_mesh(held)) {
    MeshStep one(*this, DTensor::in(optimizer_->parameters()[list.front()]).spec(), site);
    for (std::size_t index : list) one.add(index, Tensor());
    one.settle();
  }
  holders_.clear();
}

}  // namespace simmesh
