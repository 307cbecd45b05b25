#include "zero/engine/whole_step.h"

#include "collectives/collectives.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/nn/module.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/flat.h"

namespace simmesh::zero {

namespace {

// PieceTensors are the flat tensors of a rank's piece: gradient, master, and state by name.
struct PieceTensors {
  std::vector<Tensor> list;
  std::vector<std::string> state_names;
};

std::size_t index_of_master(const optim::Optimizer& optimizer, const Tensor& master) {
  for (std::size_t i = 0; i < optimizer.parameters().size(); ++i)
    if (nn::is_same_tensor(optimizer.parameters()[i], master)) return i;
  raise(ErrorKind::value_error, "zero/whole_step", "expected a master that the optimizer has");
}

PieceTensors tensors_of(const optim::Optimizer& optimizer, std::size_t index,
                        const Tensor& master) {
  PieceTensors tensors{{grad_of(master).detach(), master.detach()}, {}};
  for (const auto& [name, tensor] : optimizer.state(index))
    if (tensor.shape() == master.shape()) {
      tensors.list.push_back(tensor);
      tensors.state_names.push_back(name);
    }
  return tensors;
}

// Returns the whole tensors, of which each rank's flat buffer has pieces one after another.
std::vector<Tensor> joined(const std::vector<Tensor>& of_ranks, std::size_t count,
                           const Shape& shape) {
  std::vector<Tensor> whole;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Tensor> pieces;
    for (const Tensor& flat : of_ranks) {
      std::int64_t size = flat.numel() / std::int64_t(count);
      pieces.push_back(flat.narrow({0, std::int64_t(i) * size, size}));
    }
    whole.push_back(flattened(pieces, of_ranks[0].dtype()).view(shape));
  }
  return whole;
}

}  // namespace

void step_whole(optim::Optimizer& optimizer, const WholePiece& piece, const ProcessGroup& group) {
  NoGrad mode;
  bool has_piece = piece.master.is_defined();
  std::size_t index = has_piece ? index_of_master(optimizer, piece.master) : 0;
  PieceTensors own;
  if (has_piece) own = tensors_of(optimizer, index, piece.master);
  Ledger::Category category(MemoryCategory::communication);
  Tensor flat = has_piece ? flattened(own.list, piece.dtype) : zeros({0}, piece.dtype);
  std::vector<Tensor> of_ranks =
      group.size() > 1 ? all_gather_list(flat, group) : std::vector<Tensor>{flat};
  if (!has_piece) return;
  std::vector<Tensor> tensors = joined(of_ranks, own.list.size(), piece.shape);
  optim::Optimizer::WholeTensors whole{tensors[1], tensors[0], optimizer.state(index)};
  for (std::size_t i = 0; i < own.state_names.size(); ++i)
    whole.state[own.state_names[i]] = tensors[i + 2];
  optimizer.step_whole(index, whole);

  auto cut = [&](const Tensor& tensor) {
    return tensor.view(Shape{tensor.numel()}).narrow({0, piece.first, piece.master.numel()});
  };
  Tensor master = piece.master.detach();
  copy_(master, cut(whole.parameter));
  Ledger::Category state_category(MemoryCategory::optimizer_state);
  std::map<std::string, Tensor> state;
  for (const auto& [name, tensor] : whole.state)
    state[name] = tensor.shape() == piece.shape ? cut(tensor).clone() : tensor.clone();
  optimizer.load_state(index, std::move(state), optimizer.steps(index));
  Tensor leaf = piece.master;
  set_grad(leaf, Tensor());
}

Tensor uncut_state(gsl::span<const Tensor> of_ranks) {
  for (const Tensor& tensor : of_ranks)
    if (tensor.dim() != 1) return tensor;
  return {};
}

}  // namespace simmesh::zero
