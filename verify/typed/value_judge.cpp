#include "verify/typed/value_judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/ops/elementwise/conversion.h"
#include "core/tensor/formula.h"
#include "sharding/typed/annotation.h"
#include "sharding/typed/op_class.h"
#include "sharding/typed/type_refusal.h"
#include "verify/typed/local_op.h"

namespace simmesh {

namespace {

using enum typed::SpmdType;
using typed::TypedTensor;
using typed::TypeOnAxis;

// Some faults of a rule show only with fractions, or where a term is no number.
enum class ValueKind : std::uint8_t { whole, fractions, one_nan };

// Makes the values of an operand on every rank.
class OperandValues {
 public:
  OperandValues(const TypedCall& call, const RankGrid& grid, ValueKind kind)
      : call_(call), grid_(grid), kind_(kind) {}

  // Ranks hold equal values unless an axis between them is varying or partial. What has no type on
  // an axis takes no part in typing, so nothing may depend on it.
  PythonValue of(std::size_t operand, std::size_t rank) const {
    const TypedOperand& given = call_.operands[operand];
    std::uint64_t seed = operand + 1, terms = 0;
    for (const typed::MeshAxis& axis : grid_.axes()) {
      std::optional<typed::SpmdType> type = given.local.tensor.type_on(axis.name);
      bool is_plain_number = given.local.is_number && !given.local.tensor.types;
      bool is_alike = is_plain_number || !type || type == replicate || type == invariant;
      auto place = is_alike ? std::uint64_t(0) : std::uint64_t(grid_.coordinate(rank, axis.name));
      seed = seed * 64 + place;
      if (type == partial) terms += place;
    }
    if (given.local.is_number)
      return {given.local.tensor.types ? double(formula_word(seed, 0) % 5) : given.number};
    bool has_nan = kind_ == ValueKind::one_nan && terms == 1 && is_floating_point(given.dtype);
    return {tensor(operand, seed, has_nan)};
  }

 private:
  // No divisor is zero.
  double element(std::size_t operand, std::uint64_t word) const {
    bool divides = operand == 1 && call_.op.find("div") != std::string::npos;
    if (divides) return std::array{1.0, 2.0, 4.0, -2.0}[word % 4];
    // Terms of one sign can't cancel what is left out of one of them.
    bool is_positive = kind_ != ValueKind::whole;
    double value = is_positive ? double(word % 9) + 0.75 : double(std::int64_t(word % 9) - 4);
    return value;
  }

  Tensor tensor(std::size_t operand, std::uint64_t seed, bool has_nan) const {
    const TypedOperand& given = call_.operands[operand];
    bool is_floating = is_floating_point(given.dtype);
    Tensor result = empty(given.local.tensor.shape, DType::float64);
    auto values = result.mutable_values<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint64_t word = formula_word(seed, i);
      // Other elements are indices, counts and masks.
      values[i] = is_floating ? element(operand, word) : double(word % 2);
    }
    if (has_nan && !values.empty()) values[0] = std::numeric_limits<double>::quiet_NaN();
    if (call_.op == "view_dtype") return to(result, DType::float32);
    return is_floating ? result : to(result, given.dtype);
  }

  const TypedCall& call_;
  const RankGrid& grid_;
  ValueKind kind_;
};

// Every value as text, so that a counter-example can be followed by hand.
std::string value_text_of(const Tensor& tensor) {
  Tensor whole = to(tensor, DType::float64).contiguous();
  std::vector<std::string> texts;
  for (double value : whole.values<double>()) {
    if (texts.size() == 8) {
      texts.emplace_back("...");
      break;
    }
    texts.push_back(fmt::format("{:g}", value));
  }
  return fmt::format("{} of shape {}", join_text(texts, " "), tensor.shape());
}

// Elements are small whole numbers or quarters, so all sums within an operation are exact; each
// term and the whole are rounded at most once, by division or by a factor, and adding up n terms
// rounds n - 1 times. Each rounding is at most 2^-53 of the sum of all magnitudes.
bool are_near(const Tensor& whole, const Tensor& sum, const std::vector<Tensor>& terms) {
  if (whole.shape() != sum.shape()) return false;
  Tensor first = to(whole, DType::float64).contiguous(),
         second = to(sum, DType::float64).contiguous();
  auto x = first.values<double>(), y = second.values<double>();
  std::vector<double> magnitudes(x.size(), 0);
  for (const Tensor& term : terms) {
    Tensor of_rank = to(term, DType::float64).contiguous();
    auto values = of_rank.values<double>();
    for (std::size_t i = 0; i < values.size(); ++i) magnitudes[i] += std::fabs(values[i]);
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    bool are_both_nan = std::isnan(x[i]) && std::isnan(y[i]);
    double bound = double(terms.size() + 1) * 0x1p-53 * magnitudes[i];
    if (x[i] != y[i] && !are_both_nan && !(std::fabs(x[i] - y[i]) <= bound)) return false;
  }
  return true;
}

class Judge {
 public:
  Judge(const TypedCall& call, const TypedOutcome& outcome, const typed::TypingContext& context,
        ValueKind kind)
      : call_(call),
        outcome_(outcome),
        context_(context),
        grid_(context.axes),
        operands_(call, grid_, kind) {}

  std::optional<std::string> find() {
    run();
    for (std::size_t i = 0; i < outcome_.results.size(); ++i)
      for (const typed::MeshAxis& axis : context_.axes) {
        std::optional<TypeOnAxis> type = outcome_.results[i].full_type_on(axis.name);
        if (!type || axis.size == 1) continue;
        if (auto found = check(i, axis.name, *type)) return found;
      }
    return std::nullopt;
  }

 private:
  std::vector<PythonValue> operands_of(std::size_t rank) const {
    std::vector<PythonValue> values;
    for (std::size_t i = 0; i < call_.operands.size(); ++i) values.push_back(operands_.of(i, rank));
    return values;
  }

  // Every rank draws numbers of its own.
  std::vector<Tensor> computed(std::vector<PythonValue> operands, std::size_t rank) const {
    return run_local_op(call_.op, std::move(operands), call_.args, rank + 1);
  }

  void run() {
    for (std::size_t rank = 0; rank < grid_.count(); ++rank)
      results_.push_back(computed(operands_of(rank), rank));
  }

  std::vector<Tensor> line_of(std::size_t result, const std::vector<std::size_t>& ranks) const {
    std::vector<Tensor> line;
    for (std::size_t rank : ranks) line.push_back(results_[rank][result]);
    return line;
  }

  // Returns what the operands stand for along an axis; nullopt where one of them is varying without
  // a cut, and stands for nothing.
  std::optional<std::vector<PythonValue>> meanings(const std::string& axis,
                                                   const std::vector<std::size_t>& ranks) const {
    std::vector<PythonValue> values;
    for (std::size_t i = 0; i < call_.operands.size(); ++i) {
      const typed::LocalOperand& operand = call_.operands[i].local;
      std::optional<TypeOnAxis> type = operand.tensor.full_type_on(axis);
      if (operand.is_number && !operand.tensor.types) {
        values.push_back(operands_.of(i, ranks[0]));
        continue;
      }
      if (!type || (type->type == varying && !type->is_shard())) return std::nullopt;
      if (operand.is_number) {
        double sum = 0;
        for (std::size_t rank : ranks) sum += operands_.of(i, rank).as_number()->as<double>();
        bool is_sum = type->type == partial;
        values.emplace_back(is_sum ? sum : operands_.of(i, ranks[0]).as_number()->as<double>());
        continue;
      }
      std::vector<Tensor> line;
      for (std::size_t rank : ranks) line.push_back(*operands_.of(i, rank).find<Tensor>());
      values.emplace_back(meaning_of(line, *type));
    }
    return values;
  }

  std::optional<std::string> check(std::size_t result, const std::string& axis,
                                   const TypeOnAxis& type) const {
    if (type.type == varying && !type.is_shard()) return std::nullopt;
    std::string who =
        fmt::format("result {} is {} on {}, but", result, typed::to_string(type), axis);
    for (const std::vector<std::size_t>& ranks : grid_.lines({axis})) {
      std::vector<Tensor> line = line_of(result, ranks);
      for (std::size_t i = 1; i < line.size(); ++i) {
        bool is_alike = type.type == replicate || type.type == invariant;
        if (is_alike && !same_values(line[0], line[i]))
          return fmt::format("{} {} has {} and {} has {}", who, grid_.name_of(ranks[0]),
                             value_text_of(line[0]), grid_.name_of(ranks[i]),
                             value_text_of(line[i]));
        if (type.type == partial && line[0].shape() != line[i].shape())
          return fmt::format("{} {} has the shape {} and {} has {}", who, grid_.name_of(ranks[0]),
                             line[0].shape(), grid_.name_of(ranks[i]), line[i].shape());
      }
      if (auto found = compare_meaning(result, axis, type, ranks, line)) return who + " " + *found;
    }
    return std::nullopt;
  }

  std::optional<std::string> compare_meaning(std::size_t result, const std::string& axis,
                                             const TypeOnAxis& type,
                                             const std::vector<std::size_t>& ranks,
                                             const std::vector<Tensor>& line) const {
    std::optional<std::vector<PythonValue>> operands = meanings(axis, ranks);
    if (!operands || draws_numbers(call_.op)) return std::nullopt;
    Tensor stands_for = meaning_of(line, type);
    try {
      Tensor whole = computed(*operands, ranks[0])[result];
      bool is_equal =
          type.type == partial ? are_near(whole, stands_for, line) : same_values(whole, stands_for);
      if (is_equal) return std::nullopt;
      return fmt::format(
          "the ranks' results stand for {}, and {} of what the operands stand for is {}",
          value_text_of(stands_for), call_.op, value_text_of(whole));
    } catch (const Error& error) {
      return fmt::format("{} of what the operands stand for isn't defined: {}", call_.op,
                         error.message());
    }
  }

  const TypedCall& call_;
  const TypedOutcome& outcome_;
  const typed::TypingContext& context_;
  RankGrid grid_;
  OperandValues operands_;
  std::vector<std::vector<Tensor>> results_;  // by rank
};

// Returns the type that says what the operand of a conversion stands for; nullopt where nothing is
// promised of the meaning: reinterpret keeps the bytes, and an exchange of plain varying tensors
// moves their elements.
std::optional<TypeOnAxis> promised_as(const typed::Conversion& call,
                                      const typed::ResolvedConversion& work,
                                      const TypedTensor& tensor) {
  const TypeOnAxis& src = call.src;
  std::optional<std::int64_t> cut = typed::cut_dim(tensor.spec, call.axes[0]);
  if (work.call.op == "reinterpret") return std::nullopt;
  if (work.call.op == "all_to_all") {
    bool is_same = work.call.src == work.call.dst;
    if (!work.call.src.is_shard() || !work.call.dst.is_shard() || (is_same && !cut))
      return std::nullopt;
    return src;
  }
  bool is_reduction = call.op == "all_reduce" || call.op == "reduce_scatter";
  if (is_reduction) return TypeOnAxis{partial};
  if (work.is_idle && src.type == varying)
    return cut && call.dst.is_shard() ? std::optional(TypeOnAxis{varying, cut}) : std::nullopt;
  if (src.type != partial || tensor.type_on(call.axes[0]) == partial) return work.call.src;
  // A varying tensor passes for the terms of a sum where a reduction follows.
  if (cut) return TypeOnAxis{varying, cut};
  return work.is_idle ? TypeOnAxis{varying} : TypeOnAxis{partial};
}

std::optional<std::string> conversion_counter_example(const TypedCall& call,
                                                      const typed::TypingContext& context) {
  typed::Conversion conversion = call.conversion();
  typed::ResolvedConversion work = typed::resolved(conversion);
  std::optional<TypeOnAxis> src = promised_as(conversion, work, call.operands[0].local.tensor);
  if (!src) return std::nullopt;
  RankGrid grid(context.axes);
  OperandValues operands(call, grid, ValueKind::whole);
  RankValues before;
  for (std::size_t rank = 0; rank < grid.count(); ++rank)
    before.push_back(*operands.of(0, rank).find<Tensor>());
  RankValues after = run_conversion(grid, conversion, before);
  for (const std::vector<std::size_t>& ranks : grid.lines(call.axes)) {
    std::vector<Tensor> from, to;
    for (std::size_t rank : ranks) from.push_back(before[rank]), to.push_back(after[rank]);
    Tensor expected = meaning_of(from, *src), actual = meaning_of(to, work.call.dst);
    if (!same_values(expected, actual))
      return fmt::format("the operand stands for {} as {}, and the result of {} for {} as {}",
                         value_text_of(expected), typed::to_string(*src), call.op,
                         value_text_of(actual), typed::to_string(work.call.dst));
  }
  return std::nullopt;
}

bool is_whole_cut(const TypedCall& call, const typed::TypingContext& context) {
  std::int64_t ranks = 1;
  for (const std::string& axis : call.axes) ranks *= context.size_of(axis);
  const Shape& shape = call.operands[0].local.tensor.shape;
  return std::all_of(shape.begin(), shape.end(),
                     [&](std::int64_t size) { return size % ranks == 0; });
}

// Types an operation without running it; nullopt where it is refused.
std::optional<TypedTensor> typed_alone(std::string_view op,
                                       const std::vector<typed::LocalOperand>& operands,
                                       const typed::TypingContext& context) {
  try {
    TypedTensor result{.types = typed::infer_local(op, operands, context)};
    for (const typed::LocalOperand& operand : operands)
      result.requires_grad |= operand.tensor.requires_grad;
    return result;
  } catch (const typed::TypeRefusal&) {
    return std::nullopt;
  }
}

// Other names of an operation, on the same operands.
std::string_view equivalent_of(std::string_view op) {
  if (op == "linear") return "matmul";
  if (op == "alias_getitem") return "select";
  return op == "slice_getitem" ? "narrow" : std::string_view();
}

bool is_refused_loss(const TypedTensor& loss, const typed::TypingContext& context) {
  try {
    typed::check_loss(loss, false, context);
    return false;
  } catch (const typed::TypeRefusal&) {
    return true;
  }
}

// The gradient of a tensor has the dual of its type.
std::optional<std::string> wrong_gradient(const TypedCall& call, const TypedOutcome& outcome) {
  if (call.op != "autograd.grad" || call.operands.empty()) return std::nullopt;
  const std::optional<typed::AxisTypes>& types = call.operands.back().local.tensor.types;
  if (!types || !outcome.results[0].types) return std::nullopt;
  typed::AxisTypes expected = typed::dual_of(*types);
  if (*outcome.results[0].types == expected) return std::nullopt;
  return fmt::format("the gradient of a tensor of types {} is {}, and is typed {}",
                     types_text(types), types_text(expected), types_text(outcome.results[0].types));
}

// Only a varying tensor has pieces.
std::optional<std::string> cut_of_no_shard(const TypedTensor& result) {
  if (!result.types) return std::nullopt;
  for (const auto& [axis, type] : *result.types)
    if (std::optional<std::int64_t> dim = typed::cut_dim(result.spec, axis); dim && type != varying)
      return fmt::format("the result is {} on {}, but {} cuts its dim {}", typed::letter_of(type),
                         axis, axis, *dim);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> counter_example(const TypedCall& call, const TypedOutcome& outcome,
                                           const typed::TypingContext& context) {
  for (const TypedTensor& result : outcome.results)
    if (auto found = cut_of_no_shard(result)) return found;
  if (call.op == "autograd.backward" && is_refused_loss(call.operands[0].local.tensor, context))
    return "autograd.backward is accepted, and backward() of the same loss is refused";
  if (typed::is_conversion(call.op)) {
    if (!is_whole_cut(call, context)) return std::nullopt;
    return conversion_counter_example(call, context);
  }
  if (!call.is_local()) return std::nullopt;
  if (auto found = wrong_gradient(call, outcome)) return found;
  for (ValueKind kind : {ValueKind::whole, ValueKind::fractions, ValueKind::one_nan})
    if (auto found = Judge(call, outcome, context, kind).find()) return found;
  return std::nullopt;
}

std::optional<std::string> contradiction(const TypedCall& call,
                                         const typed::TypingContext& context) {
  if (context.is_global) return std::nullopt;
  std::vector<typed::LocalOperand> operands;
  for (const TypedOperand& operand : call.operands) operands.push_back(operand.local);
  if (std::string_view other = equivalent_of(call.op); !other.empty()) {
    if (!typed_alone(other, operands, context)) return std::nullopt;
    return fmt::format("{} is refused, and {} of the same operands is accepted", call.op, other);
  }
  bool is_backward = call.op == "autograd.grad" || call.op == "autograd.backward";
  if (is_backward && !operands.empty()) {
    if (is_refused_loss(operands[0].tensor, context)) return std::nullopt;
    return fmt::format("{} is refused, and backward() of the same loss is accepted", call.op);
  }
  if (typed::op_class(call.op) != typed::OpClass::composed || operands.size() != 3)
    return std::nullopt;
  std::optional<TypedTensor> product = typed_alone("mm", {operands[1], operands[2]}, context);
  if (!product || !typed_alone("add", {operands[0], {.tensor = *product}}, context))
    return std::nullopt;
  return fmt::format("{} is refused, and its product and its sum as two calls are accepted",
                     call.op);
}

}  // namespace simmesh
