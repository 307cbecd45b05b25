#include "sharding/typed/annotation.h"

#include <algorithm>

#include "core/check/error.h"
#include "sharding/typed/type_refusal.h"

namespace simmesh::typed {

namespace {

using enum SpmdType;

// The types that a collective of torch.distributed takes and gives.
struct RawFacts {
  std::string_view op;
  SpmdType input;
  std::vector<SpmdType> outputs;
};

const std::vector<RawFacts>& raw_facts() {
  static const std::vector<RawFacts> facts = {
      {"dist.all_reduce", partial, {replicate}},
      {"dist.all_gather", varying, {replicate, invariant}},
      {"dist.all_gather_into_tensor", varying, {replicate, invariant}},
      {"dist.all_to_all_single", varying, {varying}},
      {"dist.reduce_scatter_tensor", partial, {varying}}};
  return facts;
}

const RawFacts* find_raw(std::string_view op) {
  for (const RawFacts& facts : raw_facts())
    if (facts.op == op) return &facts;
  return nullptr;
}

void require_raw(const TypedTensor& tensor, const std::string& axis,
                 gsl::span<const SpmdType> fitting, RefusalCode code,
                 const TypingContext& context) {
  std::optional<SpmdType> type = tensor.type_on(axis);
  if (!type) {
    if (context.is_strict) throw TypeRefusal(RefusalCode::untyped_axis, axis);
    return;
  }
  if (std::find(fitting.begin(), fitting.end(), *type) == fitting.end())
    throw TypeRefusal(code, axis);
}

void assert_on(TypedTensor& tensor, const std::string& axis, const TypeOnAxis& stated) {
  std::optional<TypeOnAxis> own = tensor.full_type_on(axis);
  if (!own) return tensor.set_type(axis, stated);
  bool is_term = own->type == varying && stated.type == partial;
  if (own->type != stated.type && !is_term) throw TypeRefusal(RefusalCode::type_mismatch, axis);
  if (own->is_shard() && stated.is_shard() && !(*own == stated))
    throw TypeRefusal(RefusalCode::spec_conflict, axis);
  if (!(*own == stated)) tensor.set_type(axis, stated, true);
}

}  // namespace

TypedTensor assert_type(TypedTensor tensor, const std::map<std::string, TypeOnAxis>& stated) {
  for (const auto& [axis, type] : stated) assert_on(tensor, axis, type);
  return tensor;
}

TypedTensor mutate_type(TypedTensor tensor, const std::string& axis, const TypeOnAxis& src,
                        const TypeOnAxis& dst) {
  std::optional<SpmdType> type = tensor.type_on(axis);
  if (!type) throw TypeRefusal(RefusalCode::mutate_axis, axis);
  if (*type != src.type) throw TypeRefusal(RefusalCode::mutate_src, axis);
  tensor.set_type(axis, TypeOnAxis{dst.type});
  return tensor;
}

TypedTensor reinterpret_no_grad(TypedTensor tensor, const std::string& axis,
                                const TypeOnAxis& dst) {
  if (tensor.requires_grad) throw TypeRefusal(RefusalCode::no_grad_only);
  if (dst.type != replicate && dst.type != invariant) throw TypeRefusal(RefusalCode::no_grad_dst);
  std::optional<SpmdType> type = tensor.type_on(axis);
  if (!type) throw TypeRefusal(RefusalCode::mutate_axis, axis);
  if (*type != replicate && *type != invariant) throw TypeRefusal(RefusalCode::no_grad_src, axis);
  tensor.set_type(axis, dst);
  return tensor;
}

void check_loss(const TypedTensor& loss, bool has_gradient, const TypingContext& context) {
  if (has_gradient) return;
  if (!loss.types) {
    if (context.is_strict) throw TypeRefusal(RefusalCode::loss_untyped);
    return;
  }
  for (const MeshAxis& axis : context.axes) {
    std::optional<SpmdType> type = loss.type_on(axis.name);
    if (type && *type != invariant && *type != partial)
      throw TypeRefusal(RefusalCode::loss_type, axis.name);
  }
}

bool is_raw_collective(std::string_view op) { return find_raw(op) != nullptr; }

std::vector<TypedTensor> raw_collective(std::string_view op, gsl::span<const TypedTensor> tensors,
                                        const std::string& axis, const TypingContext& context) {
  const RawFacts* facts = find_raw(op);
  bool is_in_place = op == "dist.all_reduce";
  std::size_t expected = is_in_place ? 1 : 2;
  if (!facts || tensors.size() != expected)
    raise(ErrorKind::value_error, "sharding/typed",
          "expected a collective of torch.distributed with its tensors, got '{}' with {}", op,
          tensors.size());
  const SpmdType inputs[] = {facts->input};
  require_raw(tensors[0], axis, inputs, RefusalCode::wrong_src, context);
  if (!is_in_place)
    require_raw(tensors[1], axis, facts->outputs, RefusalCode::wrong_output, context);
  TypedTensor output = tensors[expected - 1];
  if (is_in_place && output.type_on(axis)) output.set_type(axis, {replicate});
  std::int64_t count = op == "dist.all_gather" ? context.size_of(axis) : 1;
  return std::vector<TypedTensor>(std::size_t(count), output);
}

}  // namespace simmesh::typed
