#include "zero/stage3/init.h"

#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/convert.h"
#include "zero/stage3/module_state.h"
#include "zero/stage3/partitioned_param.h"

namespace simmesh::zero {

namespace {

nn::ParameterAdoption::Adopt partition_over(const ProcessGroup& group,
                                            const Init::Options& options) {
  PartitionGroups groups = PartitionGroups::of(group, options.zero_hpz_partition_size);
  return [groups, dtype = options.dtype](nn::Module& module, const std::string& name,
                                         const Tensor& parameter) {
    NoGrad mode;
    Tensor whole = parameter.detach();
    if (dtype && is_floating_point(whole.dtype())) whole = converted(whole, *dtype);
    set_requires_grad(whole, parameter.requires_grad());
    auto& initialized = ModuleState::of(module).initialized;
    initialized.push_back(std::make_shared<PartitionedParam>(name, whole, groups));
    return initialized.back()->leaf();
  };
}

}  // namespace

Init::Init(const ProcessGroup& group, const Options& options)
    : adoption_(partition_over(group, options)) {}

}  // namespace simmesh::zero
