#include "fsdp/param/param.h"

#include <algorithm>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/tensor/chunk.h"
#include "sharding/placement/local_shape.h"

namespace simmesh::fsdp {

namespace {

constexpr std::string_view param_source = "fsdp/param";

Tensor flat(const Tensor& contiguous) { return contiguous.view(Dims{contiguous.numel()}); }

Tensor new_zeros(const Shape& shape, const Tensor& like) {
  return like.is_meta() ? empty_meta(shape, like.dtype()) : zeros(shape, like.dtype());
}

// Where parts don't divide evenly a strided shard may give other pieces than cutting one dim after
// the other, as is done here: then the placements get a shard order.
void keep_pieces(DTensorSpec& spec) {
  const Shape& mesh = spec.mesh().shape();
  std::optional<Sharding> in_order = decode_strided(spec.sharding, mesh);
  if (in_order && !same_pieces(spec.shape, mesh, spec.sharding, *in_order))
    spec.sharding = std::move(*in_order);
}

bool is_named(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

FSDPParam::FSDPParam(const Tensor& parameter, ParameterSlots slots, ParamSharding sharding)
    : slots_(std::move(slots)), sharding_(std::move(sharding)), origin_(parameter.tracking()) {
  Placement& placement = sharding_.placement;
  if (!placement.is_shard())
    raise(ErrorKind::value_error, param_source,
          "expected a shard_placement_fn that returns Shard, got {} for {}", to_string(placement),
          slots_.owner.name);
  if (sharding_.extension && sharding_.post_forward)
    raise(ErrorKind::not_implemented_error, param_source,
          "reshard_after_forward as int is not supported with a gather extension: {}",
          slots_.owner.name);
  if (placement.dim() < 0) placement = Shard(placement.dim() + parameter.dim());
  if (!parameter.distribution() && !parameter.is_contiguous())
    raise(ErrorKind::not_implemented_error, param_source,
          "FSDP does not support non-contiguous parameters yet: {} of shape {}", slots_.owner.name,
          to_string(DimSpan(parameter.shape())));
  adopt_grad_dtype(parameter);
  if (parameter.distribution() || !sharding_.data_dims.empty()) adopt_inner_spec(parameter);
  Tensor whole = parameter.local_part();
  shape_ = whole.shape();
  check(parameter, whole);
  shard(whole);
  DTensor shard(sharded_spec(parameter), DTensor::of(sharded_param_).local());
  sharded_param_ = shard.as_tensor();
  sharded_param_.set_tracking(new Variable(parameter.requires_grad()));
  set_grad_dtype(sharded_param_, grad_dtype_);
  orig_dtype_ = parameter.dtype();
  register_on_modules(sharded_param_);
}

void FSDPParam::check(const Tensor& parameter, const Tensor& whole) const {
  if (parameter.dim() == 0)
    raise(
        ErrorKind::value_error, param_source,
        "fully_shard doesn't support scalar parameters. Change {} to a 1D tensor with numel equal "
        "to 1",
        slots_.owner.name);
  std::int64_t dim = shard_dim();
  if (dim < 0 || dim >= whole.dim())
    raise(ErrorKind::assertion_error, param_source, "Shard dim {} is invalid for {}D tensor: {}",
          dim, whole.dim(), to_string(DimSpan(whole.shape())));
  if (dim > 0 && whole.size(dim) % sharding_.mesh.shard_size() != 0)
    raise(ErrorKind::not_implemented_error, param_source,
          "FSDP does not support uneven sharding on dim {}: {} (world size: {})", dim,
          to_string(DimSpan(whole.shape())), sharding_.mesh.shard_size());
}

// Keeps the part of a distributed parameter's spec that remains when it is gathered.
void FSDPParam::adopt_inner_spec(const Tensor& parameter) {
  const std::vector<std::string>& dims = sharding_.data_dims;
  if (!parameter.distribution())
    raise(ErrorKind::value_error, param_source,
          "expected DTensor parameters where dp_mesh_dims is given, got a plain tensor for {}",
          slots_.owner.name);
  inner_spec_ = DTensor::of(parameter).spec();
  const DeviceMesh& mesh = inner_spec_->mesh();
  if (!dims.empty() && !(mesh == sharding_.mesh.mesh.root()))
    raise(ErrorKind::value_error, param_source,
          "expected {} on the mesh that fully_shard got, got one on {}", slots_.owner.name,
          to_string(mesh));
  for (std::size_t i = 0; !dims.empty() && i < mesh.names().size(); ++i)
    if (is_named(dims, mesh.names()[i]) && !inner_spec_->placements()[i].is_replicate())
      raise(ErrorKind::value_error, param_source,
            "expected Replicate on the data-parallel mesh dim '{}' of {}, got {}", mesh.names()[i],
            slots_.owner.name, to_string(inner_spec_->placements()[i]));
}

DTensorSpec FSDPParam::sharded_spec(const Tensor& parameter) const {
  const MeshInfo& data = sharding_.mesh;
  DTensorSpec spec{
      data.groups, {data.placements(sharding_.placement)}, parameter.shape(), parameter.dtype()};
  if (!inner_spec_) return spec;
  const DeviceMesh& mesh = inner_spec_->mesh();
  std::vector<std::string> names;
  Placements kept;
  for (std::size_t i = 0; i < inner_spec_->placements().size(); ++i) {
    if (!sharding_.data_dims.empty() && is_named(sharding_.data_dims, mesh.names()[i])) continue;
    if (!mesh.names().empty()) names.push_back(mesh.names()[i]);
    kept.push_back(inner_spec_->placements()[i]);
  }
  if (kept.empty()) return spec;
  DeviceMesh inner = sharding_.data_dims.empty() ? mesh : mesh[DimNames(names)];
  std::int64_t factor = 1;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i].splits(shard_dim())) factor *= inner.shape()[i];
  if (factor > 1 && data.is_sharded)
    spec.sharding.placements.back() = StridedShard(shard_dim(), factor);
  spec.sharding.placements.insert(spec.sharding.placements.end(), kept.begin(), kept.end());
  spec.groups = std::make_shared<MeshGroups>(DeviceMesh::concatenate({data.mesh, inner}));
  keep_pieces(spec);
  return spec;
}

// Cuts the own piece and pads it, with a DTensor of a provisional spec.
void FSDPParam::shard(const Tensor& whole) {
  Ledger::Uncharged host(is_offloaded());
  std::int64_t dim = shard_dim(), ranks = sharding_.mesh.shard_size();
  Chunk first = chunk_of({.size = whole.size(dim), .parts = ranks, .index = 0});
  Chunk own =
      chunk_of({.size = whole.size(dim), .parts = ranks, .index = sharding_.mesh.shard_rank()});
  padded_shape_ = sharded_shape_ = shape_;
  padded_shape_[std::size_t(dim)] = first.length;
  sharded_shape_[std::size_t(dim)] = own.length;
  Ledger::Category category(MemoryCategory::parameter);
  Tensor padded = new_zeros(padded_shape_, whole);
  Tensor local = padded.narrow({dim, 0, own.length});
  if (!whole.is_meta()) copy_(local, whole.narrow({dim, own.start, own.length}));
  sharded_data_ = flat(padded);
  DTensorSpec spec{sharding_.mesh.groups,
                   {sharding_.mesh.placements(sharding_.placement)},
                   shape_,
                   whole.dtype()};
  sharded_param_ = DTensor(std::move(spec), local).as_tensor();
}

void FSDPParam::reset_sharded_param() {
  emit({.kind = EventKind::reset_sharded_param, .param = this});
  const ParameterSlots::Slot& owner = slots_.owner;
  adopt_grad_dtype(sharded_param_);
  sharded_param_ = owner.module->parameter(owner.name);
  adopt_grad_dtype(sharded_param_);
  for (const ParameterSlots::Slot& slot : slots_.aliases)
    slot.module->set_parameter(slot.name, sharded_param_);
  if (!sharded_param_.distribution())
    raise(ErrorKind::assertion_error, param_source, "expected a DTensor registered as {}",
          owner.name);
  if (grad_dtype_of(sharded_param_) != grad_dtype_) set_grad_dtype(sharded_param_, grad_dtype_);
  orig_dtype_ = sharded_param_.dtype();
  if (policy_) init_dtypes(*policy_);
  DTensor registered = DTensor::of(sharded_param_);
  const Tensor& local = registered.local();
  if (local.is_meta()) return;
  if (sharded_data_.is_defined() && sharded_data_.storage() == local.storage()) return;
  Ledger::Uncharged host(is_offloaded());
  if (local.shape() == padded_shape_ && local.is_contiguous()) {
    sharded_data_ = flat(local);
    return;
  }
  if (local.shape() != sharded_shape_)
    raise(ErrorKind::assertion_error, param_source, "expected a shard of shape {} as {}, got {}",
          to_string(DimSpan(sharded_shape_)), owner.name, to_string(DimSpan(local.shape())));
  Ledger::Category category(MemoryCategory::parameter);
  Tensor padded = zeros(padded_shape_, local.dtype());
  Tensor part = padded.narrow({shard_dim(), 0, local.size(shard_dim())});
  copy_(part, local);
  sharded_data_ = flat(padded);
  sharded_param_ = replace_value(sharded_param_, DTensor(registered.spec(), part));
  register_on_modules(sharded_param_);
}

void FSDPParam::register_on_modules(const Tensor& tensor) {
  slots_.owner.module->set_parameter(slots_.owner.name, tensor);
  for (const ParameterSlots::Slot& slot : slots_.aliases)
    slot.module->set_parameter(slot.name, tensor);
}

}  // namespace simmesh::fsdp
