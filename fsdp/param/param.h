#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/autograd/grad_dtype.h"
#include "core/clock/stream.h"
#include "core/nn/module.h"
#include "fsdp/communication/comm_streams.h"
#include "fsdp/param/event.h"
#include "fsdp/param/gather_extension.h"
#include "fsdp/param/mesh_info.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh::fsdp {

// ParameterSlots are the places of one parameter in the modules: the first one found owns it, and
// the slots tied to it are aliases, which are replaced together with it.
struct ParameterSlots {
  struct Slot {
    nn::Module* module;
    std::string name;
  };
  Slot owner;
  std::vector<Slot> aliases;
};

// ParamSharding is how one parameter is to be sharded.
struct ParamSharding {
  MeshInfo mesh;
  std::optional<MeshInfo> post_forward = {};
  Placement placement = Shard(0);
  std::optional<CPUOffloadPolicy> offload = {};
  std::optional<GatherExtension> extension = {};
  // The choice of param_dtype_override_fn, in place of the policy's param_dtype.
  std::optional<DType> param_dtype = {};
  // For SPMD meshes: the dims of the parameter's own mesh that stand for data parallelism.
  std::vector<std::string> data_dims = {};
};

// FSDPParam is one parameter of a group: its shard, the buffer of the whole, and which of them is
// registered on the modules. The shard is a DTensor whose local part views a flat buffer, padded
// with zeros to the same size on every rank, which gathers read. The whole parameter is made once;
// later only its bytes come and go, since the tape keeps views of them.
//
// Offsets and shapes are in docs/fsdp.md.
class FSDPParam {
 public:
  // Shards the parameter and registers the shard. Raises as PyTorch does for parameters that can't
  // be sharded so.
  FSDPParam(const Tensor& parameter, ParameterSlots slots, ParamSharding sharding);
  FSDPParam(const FSDPParam&) = delete;
  FSDPParam& operator=(const FSDPParam&) = delete;

  const ParameterSlots& slots() const { return slots_; }
  // name is the dotted path of the parameter in the root's model; empty before the first forward
  // pass of the root.
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  // origin is the tape's part of the tensor that was sharded: equal for slots that were tied.
  const TrackingPtr& origin() const { return origin_; }
  ShardedState state() const { return state_; }
  std::int64_t shard_dim() const { return sharding_.placement.dim(); }
  bool is_dtensor() const { return inner_spec_.has_value(); }

  // Shapes of the rank's tensor-parallel part, of its shard, and of its padded shard.
  const Shape& unsharded_shape() const { return shape_; }
  const Shape& sharded_shape() const { return sharded_shape_; }
  const Shape& padded_shape() const { return padded_shape_; }
  std::int64_t padded_numel() const { return numel(padded_shape_); }

  const Tensor& sharded_param() const { return sharded_param_; }
  const Tensor& sharded_data() const { return sharded_data_; }
  bool is_offloaded() const { return sharding_.offload.has_value(); }
  // unsharded_param is undefined before the first gather.
  const Tensor& unsharded_param() const { return unsharded_param_; }
  // unsharded_data is the flat and padded buffer of the whole; post_forward_data the slice that is
  // kept after forward over a smaller mesh. Undefined where there is none.
  const Tensor& unsharded_data() const { return unsharded_data_; }
  const Tensor& post_forward_data() const { return post_forward_data_; }

  // init_dtypes settles the dtypes by the policy and the shard's own.
  void init_dtypes(const MixedPrecisionPolicy& policy);
  DType orig_dtype() const { return orig_dtype_; }
  std::optional<DType> reduce_dtype() const { return reduce_dtype_; }
  // grad_dtype is the one that the user set on the parameter, even if something replaced or
  // converted the parameter since. sharded_grad_dtype is the dtype of the shard's gradient,
  // unsharded_grad_dtype the one in which gradients of the whole add up and are reduced; empty for
  // the one in which they come.
  const GradDtype& grad_dtype() const { return grad_dtype_; }
  std::optional<DType> sharded_grad_dtype() const { return grad_dtype_.dtype_for(orig_dtype_); }
  std::optional<DType> unsharded_grad_dtype() const { return unsharded_grad_dtype_; }

  // set_keep_unsharded_storage keeps the bytes of the whole when shards are registered.
  void set_keep_unsharded_storage(bool keep) { keeps_unsharded_storage_ = keep; }

  // reset_sharded_param adopts the registered parameter, after something replaced or converted it,
  // and pads it where it isn't padded. If nothing changed, it changes and allocates nothing.
  void reset_sharded_param();

  // gather_input returns this rank's flat part of the next gather.
  Tensor gather_input();
  // GatheredRows is the result of a gather for this parameter: a row of bytes from each rank.
  struct GatheredRows {
    const std::byte* first;
    std::size_t stride;
    std::size_t bytes;
    std::int64_t count;
    DType dtype;
  };
  void take_gathered(const GatheredRows& rows);

  // These change which parameter is registered; each does nothing where its own is already
  // registered.
  void to_unsharded();
  void to_sharded();
  // Keeps the own slice over the smaller mesh. Raises a NotImplementedError for parameters that
  // were distributed before.
  void to_sharded_post_forward();

  // begin_unsharded_grad makes the tape add up gradients as they come, up to end_unsharded_grad,
  // where the dtype in which they are added or reduced is wider; `reduces` is true if they are
  // reduced at the end of this pass. end_unsharded_grad keeps the gradient in unsharded_grad_dtype.
  void begin_unsharded_grad(bool reduces);
  void end_unsharded_grad();
  // take_unsharded_grad returns the gradient to reduce, and drops it.
  Tensor take_unsharded_grad();
  // accumulate_unsharded_grad adds the tape's gradient to the one kept in another dtype, if any.
  void accumulate_unsharded_grad();

  // add_sharded_grad adds a reduced piece, of the padded shape, to the shard's gradient.
  void add_sharded_grad(const Tensor& padded_piece, CommStreams& streams);

  // wait_for_offload makes the host wait for gradients that are being copied to it.
  void wait_for_offload(CommStreams& streams);

  // drop_gradients drops all gradients that weren't reduced, drop_sharded_grad the shard's
  // gradient.
  void drop_gradients();
  void drop_sharded_grad();

 private:
  void shard(const Tensor& whole);
  void check(const Tensor& parameter, const Tensor& whole) const;
  DTensorSpec sharded_spec(const Tensor& parameter) const;
  void adopt_inner_spec(const Tensor& parameter);
  void adopt_grad_dtype(const Tensor& parameter);
  GradDtype unsharded_policy() const;
  bool widens_gradients() const;
  bool may_reduce_outside_data_dims() const;
  void keep_apart();
  Tensor extended_input();
  void take_extended(const GatheredRows& rows);
  Tensor unsharded_local() const;
  void prepare_unsharded(DType dtype);
  void register_on_modules(const Tensor& tensor);
  void free_unsharded();
  void set_sharded_grad(Tensor local);
  Tensor offloaded(const Tensor& piece, CommStreams& streams);
  bool has_accumulate_hooks() const;
  void run_accumulate_hooks();

  ParameterSlots slots_;
  ParamSharding sharding_;
  TrackingPtr origin_;
  std::optional<DTensorSpec> inner_spec_;  // of a parameter that was distributed before
  ShardedState state_ = ShardedState::sharded;
  Shape shape_, sharded_shape_, padded_shape_;
  std::optional<MixedPrecisionPolicy> policy_;
  DType orig_dtype_ = DType::float32;
  std::optional<DType> param_dtype_, reduce_dtype_, unsharded_grad_dtype_;
  GradDtype grad_dtype_;
  // Gradients that aren't reduced yet add up on the tape's leaf, in unsharded_grad_dtype; else in
  // accumulated_grad_.
  bool accumulates_on_leaf_ = false;
  bool keeps_unsharded_storage_ = false;

  Tensor sharded_param_, sharded_data_;
  Tensor unsharded_param_, unsharded_data_;  // the latter flat and padded
  Tensor post_forward_param_, post_forward_data_;
  Tensor accumulated_grad_;
  std::vector<Tensor> sent_;  // by an extension, to the gather under way
  std::optional<StreamEvent> offload_event_;
  std::string name_;
};

// ParamGrad is a parameter with the gradient to reduce.
struct ParamGrad {
  FSDPParam* param;
  Tensor grad;
};

}  // namespace simmesh::fsdp
