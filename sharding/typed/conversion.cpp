#include "sharding/typed/conversion.h"

#include <algorithm>
#include <array>

#include "core/check/error.h"
#include "sharding/typed/global_rule.h"
#include "sharding/typed/type_refusal.h"

namespace simmesh::typed {

namespace {

using enum SpmdType;

constexpr std::array<std::string_view, 10> names = {
    "all_reduce",  "all_gather",   "reduce_scatter", "all_to_all", "convert",
    "reinterpret", "redistribute", "shard",          "unshard",    "invariant_to_replicate"};

bool is_any(const TypeOnAxis& type, std::initializer_list<SpmdType> types) {
  return std::find(types.begin(), types.end(), type.type) != types.end();
}

// A reduction takes terms: partial ones, or varying ones that the caller says to be terms.
bool is_term(const TypeOnAxis& type) {
  return type.type == partial || (type.type == varying && !type.is_shard());
}

void require_ends(bool fits_src, bool fits_dst) {
  if (!fits_src) throw TypeRefusal(RefusalCode::bad_src);
  if (!fits_dst) throw TypeRefusal(RefusalCode::bad_dst);
}

// Between these two types only experts should convert.
bool is_expert_convert(const TypeOnAxis& src, const TypeOnAxis& dst) {
  return (src.type == replicate && dst.type == invariant) ||
         (is_any(src, {invariant, varying}) && dst.type == partial);
}

bool is_expert_reinterpret(const TypeOnAxis& src, const TypeOnAxis& dst) {
  return (src.type == replicate && is_any(dst, {invariant, partial, varying})) ||
         (src.type == invariant && dst.type == replicate);
}

void require_convert(const Conversion& call) {
  const TypeOnAxis &src = call.src, &dst = call.dst;
  if (!call.is_expert && is_expert_convert(src, dst)) throw TypeRefusal(RefusalCode::expert);
  if (src.is_shard() && dst.is_shard() && !(src == dst))
    throw TypeRefusal(RefusalCode::shard_change);
  bool leaves_partial = src.type == partial && dst.type != partial;
  bool leaves_varying = src.type == varying && is_any(dst, {replicate, invariant});
  if (leaves_partial || leaves_varying) throw TypeRefusal(RefusalCode::no_conversion);
}

void require_reinterpret(const Conversion& call) {
  const TypeOnAxis &src = call.src, &dst = call.dst;
  if (src.is_shard() || dst.is_shard()) throw TypeRefusal(RefusalCode::reinterpret_shard);
  if (src == dst) return;
  if (!call.is_expert && is_expert_reinterpret(src, dst)) throw TypeRefusal(RefusalCode::expert);
  if (src.type == partial || (src.type == varying && dst.type != partial))
    throw TypeRefusal(RefusalCode::no_conversion);
}

// The call of redistribute that leads from one type to another one.
Conversion redistributed(Conversion call) {
  const TypeOnAxis &src = call.src, &dst = call.dst;
  call.is_expert = true;
  if (src.type == varying && is_any(dst, {replicate, invariant}))
    call.op = "all_gather";
  else if (src.type == partial)
    call.op = dst.type == varying ? "reduce_scatter" : "all_reduce";
  else if (src.is_shard() && dst.is_shard())
    call.op = "all_to_all";
  else
    call.op = "convert";
  return call;
}

bool is_nothing_to_do(const Conversion& call) {
  bool may_be_idle = call.op == "convert" || call.op == "reinterpret" || call.op == "redistribute";
  if (!may_be_idle || call.src.type != call.dst.type) return false;
  return !(call.src.is_shard() && call.dst.is_shard()) || call.src == call.dst;
}

void require_arguments(const Conversion& call) {
  const TypeOnAxis &src = call.src, &dst = call.dst;
  bool is_whole = is_any(dst, {replicate, invariant});
  if (call.op == "all_reduce")
    require_ends(is_term(src), is_whole);
  else if (call.op == "all_gather")
    require_ends(src.type == varying, is_whole);
  else if (call.op == "reduce_scatter")
    require_ends(is_term(src), dst.type == varying);
  else if (call.op == "all_to_all")
    require_ends(src.type == varying, dst.type == varying);
  else if (call.op == "convert")
    require_convert(call);
  else if (call.op == "reinterpret")
    require_reinterpret(call);
  else
    raise(ErrorKind::value_error, "sharding/typed",
          "expected a collective or a conversion, got '{}'", call.op);
}

void require_operand(const Conversion& call, const TypedTensor& tensor,
                     const TypingContext& context) {
  bool needs_gradient = tensor.requires_grad && context.has_gradients;
  for (const std::string& axis : call.axes) {
    std::optional<SpmdType> type = tensor.type_on(axis);
    if (!type) {
      if (context.is_strict) throw TypeRefusal(RefusalCode::untyped_axis, axis);
      continue;
    }
    bool is_implicit_term = *type == varying && call.src.type == partial;
    bool is_other_flavour =
        !needs_gradient && ((*type == replicate && call.src.type == invariant) ||
                            (*type == invariant && call.src.type == replicate));
    if (*type != call.src.type && !is_implicit_term && !is_other_flavour)
      throw TypeRefusal(RefusalCode::wrong_src, axis);
  }
}

void require_own_cut(const Conversion& call, const TypedTensor& tensor) {
  if (!call.src.is_shard()) return;
  for (const std::string& axis : call.axes)
    if (tensor.type_on(axis) && cut_dim(tensor.spec, axis) != call.src.shard_dim)
      throw TypeRefusal(RefusalCode::wrong_shard, axis);
}

// The first ranks hold the larger pieces; rank 0 has one of those.
std::int64_t piece_of(std::int64_t size, std::int64_t ranks) { return (size + ranks - 1) / ranks; }

Shape stacked(const Shape& shape, std::int64_t ranks) {
  Shape result = {ranks};
  for (std::int64_t size : shape) result.push_back(size);
  return result;
}

Shape unbound(const Shape& shape) {
  if (shape.empty())
    raise(ErrorKind::value_error, "sharding/typed", "expected a tensor with a dim 0, got a scalar");
  return Shape(shape.begin() + 1, shape.end());
}

// dim_of returns the dim of a shard, 0 for a plain varying type.
std::int64_t dim_of(const TypeOnAxis& type, const Shape& shape) {
  std::int64_t dim = type.shard_dim.value_or(0);
  if (dim >= std::int64_t(shape.size()))
    raise(ErrorKind::value_error, "sharding/typed", "expected a dim below {} in {}, got {}",
          shape.size(), to_string(type), dim);
  return dim;
}

Shape grown(const TypeOnAxis& type, Shape shape, std::int64_t ranks) {
  if (!type.is_shard()) return stacked(shape, ranks);
  shape[std::size_t(dim_of(type, shape))] *= ranks;
  return shape;
}

Shape shrunk(const TypeOnAxis& type, Shape shape, std::int64_t ranks) {
  if (!type.is_shard()) return unbound(shape);
  std::int64_t& size = shape[std::size_t(dim_of(type, shape))];
  size = piece_of(size, ranks);
  return shape;
}

Shape exchanged(const Conversion& call, Shape shape, std::int64_t ranks) {
  if (!call.src.is_shard() && !call.dst.is_shard()) return shape;
  auto cut = std::size_t(dim_of(call.dst, shape)), joined = std::size_t(dim_of(call.src, shape));
  // S(i)>V cuts dim i and joins dim 0, and V>S(j) leads back.
  if (call.src.is_shard() != call.dst.is_shard()) std::swap(cut, joined);
  shape[cut] = piece_of(shape[cut], ranks);
  shape[joined] *= ranks;
  return shape;
}

Shape shape_after(const Conversion& call, const Shape& shape, std::int64_t ranks) {
  if (call.op == "all_gather") return grown(call.src, shape, ranks);
  if (call.op == "reduce_scatter") return shrunk(call.dst, shape, ranks);
  if (call.op == "all_to_all") return exchanged(call, shape, ranks);
  if (call.op == "convert" && call.dst.type == varying) return shrunk(call.dst, shape, ranks);
  if (call.op == "convert" && call.src.type == varying) return grown(call.src, shape, ranks);
  return shape;
}

std::vector<BackwardCall> backward_of_convert(const TypeOnAxis& src, const TypeOnAxis& dst) {
  if (src.type == replicate && dst.type == invariant) return {{"convert", {invariant}, {partial}}};
  if (src.type == invariant && dst.type == replicate)
    return {{"all_reduce", {partial}, {invariant}}};
  if (dst.type == varying && src.type == replicate) return {{"convert", dst, {partial}}};
  if (dst.type == varying) return {{"all_gather", dst, {invariant}}};
  if (src.type == replicate) return {{"convert", {replicate}, {partial}}};
  if (src.type == invariant) return {{"convert", {replicate}, {invariant}}};
  return {{"convert", {replicate}, src}};
}

std::vector<BackwardCall> backward_of_reinterpret(const TypeOnAxis& src, const TypeOnAxis& dst) {
  bool is_flavour = (src.type == replicate && dst.type == invariant) ||
                    (src.type == invariant && dst.type == replicate);
  if (is_flavour) return backward_of_convert(src, dst);
  SpmdType from = dst.type == varying ? varying : replicate;
  SpmdType to = src.type == varying ? varying : partial;
  std::vector<BackwardCall> calls = {{"reinterpret", {from}, {to}}};
  if (src.type == invariant) calls.push_back({"all_reduce", {partial}, {invariant}});
  return calls;
}

std::vector<BackwardCall> backward_of(const Conversion& call) {
  const TypeOnAxis &src = call.src, &dst = call.dst;
  if (call.op == "convert") return backward_of_convert(src, dst);
  if (call.op == "reinterpret") return backward_of_reinterpret(src, dst);
  if (call.op == "all_to_all") {
    if (!src.is_shard() && !dst.is_shard()) return {{"all_to_all", {varying}, {varying}}};
    TypeOnAxis first{varying, 0};
    if (!dst.is_shard()) return {{"all_to_all", src, first}};
    return {{"all_to_all", src.is_shard() ? dst : first, src.is_shard() ? src : dst}};
  }
  if (call.op == "all_gather") {
    if (dst.type == invariant) return {{"convert", {invariant}, src}};
    return {{"reduce_scatter", {partial}, src}};
  }
  std::vector<BackwardCall> calls;
  if (call.op == "reduce_scatter")
    calls.push_back({"all_gather", dst, {replicate}});
  else if (dst.type == invariant)
    calls.push_back({"convert", {invariant}, {replicate}});
  else
    calls.push_back({"all_reduce", {partial}, {replicate}});
  if (src.type == varying) calls.push_back({"reinterpret", {replicate}, {varying}});
  return calls;
}

// A new dim 0 comes before the cuts of other axes; a dim 0 that goes takes its cuts along.
PartitionSpec shifted(PartitionSpec spec, std::int64_t dims_before, std::int64_t dims_after) {
  if (spec.empty() || dims_before == dims_after) return spec;
  if (dims_after > dims_before)
    spec.insert(spec.begin(), std::vector<std::string>());
  else
    spec.erase(spec.begin());
  return spec;
}

TypedTensor result_of(const Conversion& call, const TypedTensor& tensor, bool is_idle,
                      const TypingContext& context) {
  std::int64_t ranks = 1;
  for (const std::string& axis : call.axes) ranks *= context.size_of(axis);
  TypedTensor result = tensor;
  if (!result.types) result.types.emplace();
  if (!is_idle) result.shape = shape_after(call, tensor.shape, ranks);
  result.spec = shifted(std::move(result.spec), std::int64_t(tensor.shape.size()),
                        std::int64_t(result.shape.size()));
  for (const std::string& axis : call.axes) {
    if (!tensor.type_on(axis)) continue;
    result.set_type(axis, context.is_global ? call.dst : TypeOnAxis{call.dst.type});
  }
  result.requires_grad = tensor.requires_grad && (is_idle || context.has_gradients);
  return result;
}

}  // namespace

bool is_conversion(std::string_view op) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

ResolvedConversion resolved(Conversion call) {
  if (call.op == "shard") {
    require_ends(true, call.dst.is_shard());
    call.op = "convert", call.is_expert = false;
  } else if (call.op == "unshard") {
    require_ends(call.src.is_shard(), true);
    call.op = "all_gather";
  } else if (call.op == "invariant_to_replicate") {
    call.op = "convert", call.src = {invariant}, call.dst = {replicate};
  } else if (call.op == "redistribute") {
    if (is_nothing_to_do(call)) return {std::move(call), true};
    call = redistributed(std::move(call));
  }
  require_arguments(call);
  bool is_idle = is_nothing_to_do(call);
  return {std::move(call), is_idle};
}

std::vector<BackwardCall> backward_calls(const Conversion& call) {
  ResolvedConversion work = resolved(call);
  return work.is_idle ? std::vector<BackwardCall>() : backward_of(work.call);
}

Converted convert_type(const Conversion& call, const TypedTensor& tensor,
                       const TypingContext& context) {
  if (context.is_global) require_cuts(tensor);
  ResolvedConversion work = resolved(call);
  work.call.axes = call.axes;
  require_operand(work.call, tensor, context);
  if (context.is_global) require_own_cut(work.call, tensor);
  Converted result;
  result.tensor = result_of(work.call, tensor, work.is_idle, context);
  result.is_same_tensor = work.is_idle || call.is_in_place;
  if (tensor.requires_grad && context.has_gradients && !work.is_idle)
    result.backward = backward_of(work.call);
  return result;
}

}  // namespace simmesh::typed
