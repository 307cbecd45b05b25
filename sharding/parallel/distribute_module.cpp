#include "sharding/parallel/distribute_module.h"

#include "core/autograd/variable.h"
#include "sharding/parallel/equal_pieces.h"

namespace simmesh {

void distribute_parameter(nn::Module& module, std::string_view name, const DeviceMesh& mesh,
                          const Placements& placements) {
  const Tensor& parameter = module.parameter(name);
  DTensor distributed = distribute_tensor(parameter.detach(), mesh, placements);
  if (parameter.requires_grad()) distributed.set_requires_grad();
  module.set_parameter(name, distributed.as_tensor());
}

void replicate_parameters(nn::Module& module, const DeviceMesh& mesh) {
  for (const auto& [path, below] : module.named_modules())
    for (const nn::ParameterSlot& slot : std::vector(below->slots())) {
      if (!slot.tensor.is_defined() || slot.tensor.distribution()) continue;
      DTensor replicated = from_local(slot.tensor.detach(), mesh, {Replicate()});
      if (slot.tensor.requires_grad()) replicated.set_requires_grad();
      below->set_parameter(slot.name, replicated.as_tensor());
    }
}

Tensor laid_out(const Tensor& tensor, const DeviceMesh& mesh, const TensorLayout& layout) {
  if (!tensor.distribution() && layout.from.splits()) check_equal_pieces(tensor, mesh, layout.from);
  DTensor result = tensor.distribution()
                       ? DTensor::of(tensor)
                       : from_local(tensor, mesh, {layout.from}, {.check_shapes = false});
  bool moves =
      layout.to && !(*layout.to == (tensor.distribution() ? result.placements()[0] : layout.from));
  return (moves ? result.redistribute({*layout.to}) : result).as_tensor();
}

void add_layouts(nn::Module& module, const DeviceMesh& mesh, const ModuleLayouts& layouts) {
  module.add_pre_hook([layout = layouts.input, mesh](nn::Module&, nn::Tensors inputs) {
    inputs[0] = laid_out(inputs[0], mesh, layout);
    return inputs;
  });
  module.add_hook([layout = layouts.output, is_local = layouts.is_local, mesh](
                      nn::Module&, const nn::Tensors&, nn::Tensors outputs) {
    outputs[0] = laid_out(outputs[0], mesh, {layout, layout});
    if (is_local) outputs[0] = piece_of(outputs[0]);
    return outputs;
  });
}

Tensor piece_of(const Tensor& tensor) { return DTensor::of(tensor).to_local(); }

}  // namespace simmesh
