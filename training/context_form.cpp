#include "training/context_form.h"

namespace simmesh {

ParallelForm with_context(ParallelForm form, const ContextParallel& style, const DeviceMesh& mesh) {
  ProcessGroup group = process_group(mesh);
  form.part_of_rows = [group, order = style.order](const Tensor& rows) {
    return context_parallel_shard(rows, {.dim = 1, .order = order}, group);
  };
  form.prepare = [style, mesh, next = std::move(form.prepare)](nn::Module& model) {
    style.apply(model, mesh);
    if (next) next(model);
  };
  return form;
}

}  // namespace simmesh
