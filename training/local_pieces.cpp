#include "training/local_pieces.h"

#include <memory>
#include <utility>

#include "core/autograd/variable.h"

namespace simmesh {

namespace {

// Runs a module with one of its parameters distributed again. The piece is the one that the module
// has when it runs, for an engine may have put another tensor in its place. A run that ended with
// an error has left the distributed one.
void distribute_while_running(nn::Module& module, const std::string& name,
                              const DTensorSpec& spec) {
  auto piece = std::make_shared<Tensor>();
  module.add_first_pre_hook([name, piece, spec](nn::Module& self, nn::Tensors inputs) {
    if (const Tensor& now = self.parameter(name); !now.distribution()) *piece = now;
    DTensor whole = from_local(*piece, spec.mesh(), spec.placements(), {.shape = spec.shape});
    self.set_parameter(name, whole.as_tensor());
    return inputs;
  });
  module.add_hook([name, piece](nn::Module& self, const nn::Tensors&, nn::Tensors outputs) {
    self.set_parameter(name, *piece);
    return outputs;
  });
}

}  // namespace

LocalPieces::LocalPieces(nn::Module& model) {
  std::vector<std::pair<Tensor, Tensor>> replaced;  // by their pieces
  for (const auto& [path, module] : model.named_modules())
    for (const nn::ParameterSlot& slot : std::vector(module->slots())) {
      if (!slot.tensor.is_defined() || !slot.tensor.distribution()) continue;
      DTensorSpec spec = DTensor::of(slot.tensor).spec();
      Tensor piece;
      for (const auto& [parameter, known] : replaced)
        if (nn::is_same_tensor(parameter, slot.tensor)) piece = known;
      if (!piece.is_defined()) {
        piece = slot.tensor.local_part().detach();
        set_requires_grad(piece, slot.tensor.requires_grad());
        replaced.emplace_back(slot.tensor, piece);
      }
      specs_.emplace(path.empty() ? slot.name : path + "." + slot.name, spec);
      module->set_parameter(slot.name, piece);
      distribute_while_running(*module, slot.name, spec);
    }
}

bool LocalPieces::counts(const std::string& name) const {
  auto found = specs_.find(name);
  if (found == specs_.end()) return true;
  const DTensorSpec& spec = found->second;
  for (std::int64_t dim = 0; dim < spec.mesh().ndim(); ++dim)
    if (spec.placements()[std::size_t(dim)].is_replicate() && spec.mesh().get_local_rank(dim) != 0)
      return false;
  return true;
}

Tensor LocalPieces::whole(const std::string& name, const Tensor& piece) const {
  auto found = specs_.find(name);
  if (found == specs_.end() || !piece.is_defined()) return piece;
  DTensorSpec spec = found->second;
  if (piece.shape() != spec.local_shape()) return piece;
  spec.dtype = piece.dtype();
  return DTensor(std::move(spec), piece).full_tensor();
}

}  // namespace simmesh
