#include "sharding/parallel/prepare_module.h"

#include "core/check/error.h"
#include "sharding/parallel/distribute_module.h"

namespace simmesh {

namespace {

struct Preparation {
  const char* what;  // "input" or "output"
  Layouts from, to;
  bool is_local;
};

void check_lengths(const Preparation& wanted) {
  if (wanted.from.size() == wanted.to.size()) return;
  raise(ErrorKind::assertion_error, "sharding/parallelize",
        "{0}_layouts and desired_{0}_layouts should have same length, got {1} and {2}", wanted.what,
        wanted.from.size(), wanted.to.size());
}

nn::Tensors prepared(nn::Tensors tensors, const Preparation& wanted, const DeviceMesh& mesh) {
  if (tensors.size() != wanted.from.size())
    raise(ErrorKind::value_error, "sharding/parallelize",
          "module {0}s and {0}_layouts should have same length, got {1} and {2}", wanted.what,
          tensors.size(), wanted.from.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!wanted.from[i]) continue;
    tensors[i] = laid_out(tensors[i], mesh, {*wanted.from[i], wanted.to[i]});
    if (wanted.is_local) tensors[i] = piece_of(tensors[i]);
  }
  return tensors;
}

}  // namespace

void PrepareModuleInput::apply(nn::Module& module, const DeviceMesh& mesh) const {
  Preparation wanted{"input", input_layouts, desired_input_layouts, use_local_output};
  check_lengths(wanted);
  module.add_pre_hook([wanted, mesh](nn::Module&, nn::Tensors inputs) {
    return prepared(std::move(inputs), wanted, mesh);
  });
}

void PrepareModuleOutput::apply(nn::Module& module, const DeviceMesh& mesh) const {
  Preparation wanted{"output", output_layouts, desired_output_layouts, use_local_output};
  check_lengths(wanted);
  module.add_hook([wanted, mesh](nn::Module&, const nn::Tensors&, nn::Tensors outputs) {
    return prepared(std::move(outputs), wanted, mesh);
  });
}

void PrepareModuleInputOutput::apply(nn::Module& module, const DeviceMesh& mesh) const {
  input.apply(module, mesh);
  output.apply(module, mesh);
}

}  // namespace simmesh
