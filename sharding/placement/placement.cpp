#include "sharding/placement/placement.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh {
namespace {

constexpr std::string_view placement_source = "sharding/placement";

std::int32_t checked_dim(std::int64_t tensor_dim) {
  if (tensor_dim < -dims_max || tensor_dim >= dims_max)
    raise(ErrorKind::value_error, placement_source, "expected a tensor dim in [{}, {}], got {}",
          -dims_max, dims_max - 1, tensor_dim);
  return static_cast<std::int32_t>(tensor_dim);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// inside returns the text between prefix and suffix.
std::optional<std::string_view> inside(std::string_view text, std::string_view prefix,
                                       std::string_view suffix) {
  if (text.size() < prefix.size() + suffix.size() || !text.starts_with(prefix) ||
      !text.ends_with(suffix))
    return std::nullopt;
  text.remove_prefix(prefix.size());
  text.remove_suffix(suffix.size());
  return text;
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  text = trimmed(text);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::vector<std::int64_t>> numbers_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  text = trimmed(text);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const auto number = number_of<std::int64_t>(text.substr(0, comma));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
    if (trimmed(text).empty()) return std::nullopt;
  }
  return numbers;
}

// Parses the arguments of a MaskPartial: "sum,[8,4],0".
std::optional<Placement> try_parse_lookup(std::string_view text) {
  const std::size_t open = text.find('['), close = text.rfind(']');
  if (open == text.npos || close == text.npos || close < open) return std::nullopt;
  const auto op = inside(trimmed(text.substr(0, open)), "", ",");
  const auto shape = numbers_of(text.substr(open + 1, close - open - 1));
  const auto last = inside(trimmed(text.substr(close + 1)), ",", "");
  const auto dim = last ? number_of<std::int64_t>(*last) : std::nullopt;
  if (!op || !shape || shape->empty() || !dim) return std::nullopt;
  return MaskPartial(reduce_op_from_string(trimmed(*op)), *shape, *dim);
}

// try_parse returns nothing where the text has none of the forms; it raises for arguments out of
// range.
std::optional<Placement> try_parse(std::string_view text) {
  if (text == "R") return Replicate();
  if (text == "MaskP") return MaskPartial();
  if (const auto lookup = inside(text, "MaskP(", ")")) return try_parse_lookup(*lookup);
  if (const auto numbers = inside(text, "_S(", ")")) {
    const auto pair = numbers_of(*numbers);
    if (pair && pair->size() == 2) return StridedShard((*pair)[0], (*pair)[1]);
    return std::nullopt;
  }
  if (const auto dim = inside(text, "S(", ")")) {
    const auto number = number_of<std::int64_t>(*dim);
    return number ? std::optional(Shard(*number)) : std::nullopt;
  }
  if (const auto op = inside(text, "P(", ")")) return Partial(reduce_op_from_string(trimmed(*op)));
  if (const auto p = inside(text, "NormP(", ")")) {
    const auto number = number_of<double>(*p);
    return number ? std::optional(NormPartial(*number)) : std::nullopt;
  }
  if (const auto list = inside(text, "Ragged([", "])")) {
    auto units = numbers_of(*list);
    return units ? std::optional(RaggedShard(std::move(*units))) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Placement Shard(std::int64_t tensor_dim) {
  Placement placement;
  placement.kind_ = Placement::Kind::shard;
  placement.dim_ = checked_dim(tensor_dim);
  return placement;
}

Placement StridedShard(std::int64_t tensor_dim, std::int64_t split_factor) {
  if (split_factor < 1)
    raise(ErrorKind::value_error, placement_source, "expected a split factor of at least 1, got {}",
          split_factor);
  Placement placement = Shard(tensor_dim);
  placement.kind_ = Placement::Kind::strided_shard;
  placement.number_ = split_factor;
  return placement;
}

Placement Partial(ReduceOp op) {
  if (op == ReduceOp::premul_sum)
    raise(ErrorKind::value_error, placement_source,
          "expected an op that can be partial, got premul_sum");
  Placement placement;
  placement.kind_ = Placement::Kind::partial;
  placement.op_ = op;
  return placement;
}

Placement MaskPartial(ReduceOp op, DimSpan table_shape, std::int64_t table_dim) {
  const std::int64_t dims = std::max<std::int64_t>(std::int64_t(table_shape.size()), 1);
  if (op != ReduceOp::sum || table_dim < 0 || table_dim >= dims)
    raise(ErrorKind::value_error, placement_source,
          "expected a partial sum of a lookup along a dim of its table, got MaskP({},{},{})",
          to_string(op), to_string(table_shape), table_dim);
  Placement placement;
  placement.kind_ = Placement::Kind::mask_partial;
  placement.dim_ = checked_dim(table_dim);
  if (!table_shape.empty())
    placement.units_ =
        std::make_shared<const std::vector<std::int64_t>>(table_shape.begin(), table_shape.end());
  return placement;
}

Placement NormPartial(double p) {
  if (std::isnan(p))
    raise(ErrorKind::value_error, placement_source, "expected a number as norm, got nan");
  Placement placement;
  placement.kind_ = Placement::Kind::norm_partial;
  placement.number_ = std::bit_cast<std::int64_t>(p + 0.0);  // one zero only
  if (std::isinf(p)) placement.op_ = p > 0 ? ReduceOp::max : ReduceOp::min;
  return placement;
}

Placement RaggedShard(std::vector<std::int64_t> units) {
  if (std::any_of(units.begin(), units.end(), [](std::int64_t count) { return count < 0; }))
    raise(ErrorKind::value_error, placement_source, "expected unit counts of at least 0, got {}",
          to_string(DimSpan(units)));
  Placement placement;
  placement.kind_ = Placement::Kind::ragged_shard;
  placement.units_ = std::make_shared<const std::vector<std::int64_t>>(std::move(units));
  return placement;
}

double Placement::norm() const {
  return kind_ == Kind::norm_partial ? std::bit_cast<double>(number_) : 0.0;
}

DimSpan Placement::units() const {
  return units_ && is_ragged_shard() ? DimSpan(*units_) : DimSpan();
}

DimSpan Placement::table_shape() const {
  return units_ && kind_ == Kind::mask_partial ? DimSpan(*units_) : DimSpan();
}

std::int64_t Placement::table_dim() const { return kind_ == Kind::mask_partial ? dim_ : 0; }

Placement Placement::with_dim(std::int64_t tensor_dim) const {
  SIMMESH_CHECK(splits(), "with_dim on {}", to_string(*this));
  Placement placement = *this;
  placement.dim_ = checked_dim(tensor_dim);
  return placement;
}

bool operator==(const Placement& left, const Placement& right) {
  if (left.kind_ != right.kind_ || left.op_ != right.op_ || left.dim_ != right.dim_ ||
      left.number_ != right.number_)
    return false;
  if (left.units_ == right.units_) return true;
  return left.units_ && right.units_ && *left.units_ == *right.units_;
}

std::strong_ordering operator<=>(const Placement& left, const Placement& right) {
  if (auto order = left.kind_ <=> right.kind_; order != 0) return order;
  if (auto order = left.dim_ <=> right.dim_; order != 0) return order;
  if (auto order = left.op_ <=> right.op_; order != 0) return order;
  if (auto order = left.number_ <=> right.number_; order != 0) return order;
  const auto numbers = [](const Placement& one) {
    return one.units_ ? DimSpan(*one.units_) : DimSpan();
  };
  const DimSpan left_units = numbers(left), right_units = numbers(right);
  return std::lexicographical_compare_three_way(left_units.begin(), left_units.end(),
                                                right_units.begin(), right_units.end());
}

std::string to_string(const Placement& placement) {
  switch (placement.kind()) {
    case Placement::Kind::replicate: return "R";
    case Placement::Kind::shard: return fmt::format("S({})", placement.dim());
    case Placement::Kind::strided_shard:
      return fmt::format("_S({},{})", placement.dim(), placement.split_factor());
    case Placement::Kind::partial: return fmt::format("P({})", to_string(placement.reduce_op()));
    case Placement::Kind::mask_partial:
      if (placement.table_shape().empty()) return "MaskP";
      return fmt::format("MaskP({},[{}],{})", to_string(placement.reduce_op()),
                         join_text(placement.table_shape(), ","), placement.table_dim());
    case Placement::Kind::norm_partial: return fmt::format("NormP({})", placement.norm());
    case Placement::Kind::ragged_shard:
      return fmt::format("Ragged([{}])", join_text(placement.units(), ","));
  }
  SIMMESH_CHECK(false, "unknown placement kind {}", static_cast<int>(placement.kind()));
}

std::string to_string(PlacementSpan placements) {
  std::string text;
  for (const Placement& placement : placements) {
    if (!text.empty()) text += ',';
    text += to_string(placement);
  }
  return text;
}

Placement parse_placement(std::string_view text) {
  if (auto placement = try_parse(trimmed(text))) return *std::move(placement);
  raise(
      ErrorKind::value_error, placement_source,
      "expected R, S(dim), _S(dim,split_factor), P(op), MaskP, MaskP(sum,[size,..],dim), NormP(p) "
      "or Ragged([units,..]), got '{}'",
      text);
}

Placements parse_placements(std::string_view text) {
  Placements placements;
  if (trimmed(text).empty()) return placements;
  std::size_t begin = 0;
  std::int64_t depth = 0;
  for (std::size_t end = 0; end <= text.size(); ++end) {
    const char sign = end < text.size() ? text[end] : ',';
    if (sign == '(' || sign == '[') ++depth;
    if (sign == ')' || sign == ']') --depth;
    if (end < text.size() && (sign != ',' || depth > 0)) continue;
    try {
      placements.push_back(parse_placement(text.substr(begin, end - begin)));
    } catch (const Error& error) {
      raise(ErrorKind::value_error, placement_source, "entry {} of the list '{}': {}",
            placements.size(), text, error.message());
    }
    begin = end + 1;
  }
  return placements;
}

Placements normalized(PlacementSpan placements, std::int64_t tensor_dims) {
  Placements list(placements.begin(), placements.end());
  for (Placement& placement : list) {
    if (!placement.splits()) continue;
    if (tensor_dims == 0)
      raise(ErrorKind::assertion_error, placement_source,
            "Expected tensor.dim() > 0, got a tensor without dims for the placement {}",
            to_string(placement));
    if (placement.dim() < -tensor_dims || placement.dim() >= tensor_dims)
      raise(ErrorKind::index_error, placement_source,
            "Dimension out of range (expected to be in range of [{}, {}], but got {}) in the "
            "placement {}",
            -tensor_dims, tensor_dims - 1, placement.dim(), to_string(placement));
    if (placement.dim() < 0) placement = placement.with_dim(placement.dim() + tensor_dims);
  }
  return list;
}

bool has_partial(PlacementSpan placements) {
  return std::any_of(placements.begin(), placements.end(),
                     [](const Placement& placement) { return placement.is_partial(); });
}

bool embeds_shard(const Placement& from, const Placement& to) {
  return from.is_shard() && to == Partial(ReduceOp::sum);
}

std::size_t hash_value(const Placement& placement) {
  std::uint64_t hash = 0;
  const auto mix = [&hash](std::uint64_t value) {
    hash ^= value + 0x9E3779B97F4A7C15u + (hash << 6) + (hash >> 2);
    hash *= 0xBF58476D1CE4E5B9u;
    hash ^= hash >> 31;
  };
  mix(static_cast<std::uint64_t>(placement.kind()));
  mix(static_cast<std::uint64_t>(placement.reduce_op()));
  mix(static_cast<std::uint64_t>(placement.dim()));
  mix(static_cast<std::uint64_t>(placement.split_factor()));
  mix(std::bit_cast<std::uint64_t>(placement.norm()));
  for (DimSpan numbers : {placement.units(), placement.table_shape()})
    for (std::int64_t number : numbers) mix(static_cast<std::uint64_t>(number));
  return static_cast<std::size_t>(hash);
}

}  // namespace simmesh
