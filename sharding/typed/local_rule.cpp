#include "sharding/typed/local_rule.h"

#include <algorithm>
#include <set>
#include <vector>

#include "sharding/typed/op_class.h"
#include "sharding/typed/type_refusal.h"

namespace simmesh::typed {

namespace {

// An operand as it counts on one axis.
struct Joined {
  SpmdType type;
  bool needs_gradient;
};

// Operands as they count on all axes: a plain number has no types and fits everywhere.
struct Counted {
  std::optional<AxisTypes> types;
  bool needs_gradient;
  bool is_plain_number;
};

std::vector<Counted> counted_operands(std::string_view op, gsl::span<const LocalOperand> operands,
                                      const TypingContext& context) {
  std::size_t count = operands.size() - (is_written_only(op) ? 1 : 0);
  std::vector<Counted> result;
  for (const LocalOperand& operand : operands.first(count)) {
    const TypedTensor& tensor = operand.tensor;
    result.push_back({.types = tensor.types,
                      .needs_gradient = tensor.requires_grad && context.has_gradients,
                      .is_plain_number = operand.is_number && !tensor.types});
  }
  return result;
}

std::set<std::string> axes_of(gsl::span<const Counted> operands, const TypingContext& context) {
  std::set<std::string> axes;
  if (context.has_current_mesh)
    for (const MeshAxis& axis : context.axes)
      if (axis.size > 1) axes.insert(axis.name);
  for (const Counted& operand : operands)
    if (operand.types)
      for (const auto& [axis, type] : *operand.types) axes.insert(axis);
  return axes;
}

std::optional<SpmdType> type_of(const Counted& operand, const std::string& axis) {
  if (!operand.types) return std::nullopt;
  auto found = operand.types->find(axis);
  return found == operand.types->end() ? std::nullopt : std::optional(found->second);
}

std::int64_t count_of(gsl::span<const Joined> operands, SpmdType type) {
  return std::count_if(operands.begin(), operands.end(),
                       [&](const Joined& operand) { return operand.type == type; });
}

bool is_alike(SpmdType type) { return type == SpmdType::replicate || type == SpmdType::invariant; }

// R and I operands that can't receive a gradient take the flavour of those that can.
void take_one_flavour(std::vector<Joined>& operands) {
  bool has_replicate = false, has_invariant = false;
  for (const Joined& operand : operands) {
    has_replicate |= operand.needs_gradient && operand.type == SpmdType::replicate;
    has_invariant |= operand.needs_gradient && operand.type == SpmdType::invariant;
  }
  if (has_replicate && has_invariant) return;
  for (Joined& operand : operands)
    if (!operand.needs_gradient && is_alike(operand.type))
      operand.type = has_invariant ? SpmdType::invariant : SpmdType::replicate;
}

SpmdType join(std::vector<Joined> operands, OpClass op_class, bool has_number, bool takes_flavours,
              const std::string& axis) {
  auto has = [&](SpmdType type) { return count_of(operands, type) > 0; };
  auto is_mixed = [&] {
    return has(SpmdType::invariant) &&
           count_of(operands, SpmdType::invariant) < std::int64_t(operands.size());
  };
  if (takes_flavours && is_mixed()) take_one_flavour(operands);
  if (is_mixed()) throw TypeRefusal(RefusalCode::invariant_mixed, axis);
  if (has(SpmdType::invariant)) return SpmdType::invariant;
  std::int64_t partials = count_of(operands, SpmdType::partial);
  if (partials == 0) return has(SpmdType::varying) ? SpmdType::varying : SpmdType::replicate;
  if (has(SpmdType::varying)) throw TypeRefusal(RefusalCode::partial_with_varying, axis);
  if (op_class == OpClass::other) throw TypeRefusal(RefusalCode::partial_nonlinear, axis);
  bool is_linear = op_class == OpClass::linear;
  if (is_linear && (has(SpmdType::replicate) || has_number))
    throw TypeRefusal(RefusalCode::partial_affine, axis);
  if (!is_linear && partials > 1) throw TypeRefusal(RefusalCode::partial_twice, axis);
  return SpmdType::partial;
}

void require_types(gsl::span<const Counted> operands, const std::set<std::string>& axes) {
  for (const std::string& axis : axes)
    for (const Counted& operand : operands)
      if (!operand.is_plain_number && !type_of(operand, axis))
        throw TypeRefusal(RefusalCode::missing_axis, axis);
}

// The rule by which operands join: the class of the operation, and whether operands without a
// gradient take the flavour of the others.
struct JoinRule {
  OpClass op_class;
  bool takes_flavours;
};

// Joins on every axis. An operand without a type there is left out; what no operand has a type for,
// the result has none for.
AxisTypes join_all(gsl::span<const Counted> operands, JoinRule rule, const TypingContext& context) {
  AxisTypes result;
  std::set<std::string> axes = axes_of(operands, context);
  if (context.is_strict) require_types(operands, axes);
  for (const std::string& axis : axes) {
    std::vector<Joined> joined;
    bool has_number = false;
    for (const Counted& operand : operands) {
      has_number |= operand.is_plain_number;
      if (std::optional<SpmdType> type = type_of(operand, axis))
        joined.push_back({*type, operand.needs_gradient});
    }
    if (!joined.empty())
      result[axis] = join(std::move(joined), rule.op_class, has_number, rule.takes_flavours, axis);
  }
  return result;
}

AxisTypes factory_types(const TypingContext& context) {
  AxisTypes result;
  if (!context.has_current_mesh) return result;
  for (const MeshAxis& axis : context.axes)
    if (axis.size > 1) result[axis.name] = SpmdType::replicate;
  return result;
}

void require_divisor(gsl::span<const Counted> operands) {
  if (operands.size() < 2 || !operands[1].types) return;
  for (const auto& [axis, type] : *operands[1].types)
    if (type == SpmdType::partial) throw TypeRefusal(RefusalCode::partial_divisor, axis);
}

void require_same_when_written(const TypedTensor& written, const AxisTypes& result) {
  if (!written.types) return;
  for (const auto& [axis, type] : *written.types) {
    auto found = result.find(axis);
    if (found == result.end() || found->second == type) continue;
    bool may_vary = is_alike(type) && found->second == SpmdType::varying && !written.requires_grad;
    if (!may_vary) throw TypeRefusal(RefusalCode::mutation, axis);
  }
}

// The product is typed first, then its sum with operand 0.
AxisTypes join_composed(gsl::span<const Counted> operands, const TypingContext& context) {
  AxisTypes product = join_all(operands.subspan(1, 2), {OpClass::multilinear, false}, context);
  const Counted terms[] = {{.types = product, .needs_gradient = false, .is_plain_number = false},
                           operands[0]};
  return join_all(terms, {OpClass::linear, false}, context);
}

}  // namespace

AxisTypes infer_local(std::string_view op, gsl::span<const LocalOperand> operands,
                      const TypingContext& context) {
  OpClass of_op = op_class(op);
  if (of_op == OpClass::factory) return factory_types(context);
  if (of_op == OpClass::untyped_factory) return {};
  std::vector<Counted> counted = counted_operands(op, operands, context);
  if (of_op == OpClass::divided) require_divisor(counted);
  bool is_composed = of_op == OpClass::composed && counted.size() == 3;
  AxisTypes result =
      is_composed ? join_composed(counted, context) : join_all(counted, {of_op, true}, context);
  if (std::optional<std::size_t> written = written_operand(op, operands.size()))
    require_same_when_written(operands[*written].tensor, result);
  return result;
}

}  // namespace simmesh::typed
