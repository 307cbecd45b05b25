#include "sharding/typed/spmd_type.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "core/check/error.h"

namespace simmesh::typed {

namespace {

constexpr std::string_view letters = "RIVP";

}  // namespace

SpmdType dual(SpmdType type) {
  if (type == SpmdType::replicate) return SpmdType::partial;
  return type == SpmdType::partial ? SpmdType::replicate : type;
}

std::string_view letter_of(SpmdType type) { return letters.substr(std::size_t(type), 1); }

std::optional<TypeOnAxis> parse_type(std::string_view text) {
  if (text.size() == 1) {
    std::size_t at = letters.find(text[0]);
    return at == std::string_view::npos ? std::nullopt : std::optional(TypeOnAxis{SpmdType(at)});
  }
  if (text.size() < 4 || text.substr(0, 2) != "S(" || text.back() != ')') return std::nullopt;
  std::string_view digits = text.substr(2, text.size() - 3);
  std::int64_t dim = -1;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), dim);
  bool is_whole = error == std::errc() && end == digits.data() + digits.size();
  if (!is_whole || dim < 0 || dim >= dims_max) return std::nullopt;
  return TypeOnAxis{SpmdType::varying, dim};
}

std::string to_string(const TypeOnAxis& type) {
  if (type.is_shard()) return fmt::format("S({})", *type.shard_dim);
  return std::string(letter_of(type.type));
}

AxisTypes dual_of(const AxisTypes& types) {
  AxisTypes result;
  for (const auto& [axis, type] : types) result[axis] = dual(type);
  return result;
}

std::optional<std::int64_t> cut_dim(const PartitionSpec& spec, std::string_view axis) {
  for (std::size_t dim = 0; dim < spec.size(); ++dim)
    if (std::find(spec[dim].begin(), spec[dim].end(), axis) != spec[dim].end())
      return std::int64_t(dim);
  return std::nullopt;
}

bool cuts_any(const PartitionSpec& spec) {
  return std::any_of(spec.begin(), spec.end(), [](const auto& axes) { return !axes.empty(); });
}

PartitionSpec without(PartitionSpec spec, std::string_view axis) {
  for (std::vector<std::string>& axes : spec)
    axes.erase(std::remove(axes.begin(), axes.end(), axis), axes.end());
  return spec;
}

PartitionSpec with_cut(PartitionSpec spec, std::int64_t dims, std::int64_t dim,
                       const std::string& axis) {
  if (dim >= dims)
    raise(ErrorKind::value_error, "sharding/typed",
          "expected a dim below {} to cut along {}, got {}", dims, axis, dim);
  PartitionSpec result = without(std::move(spec), axis);
  result.resize(std::size_t(dims));
  result[std::size_t(dim)].push_back(axis);
  return result;
}

std::optional<SpmdType> TypedTensor::type_on(const std::string& axis) const {
  if (!types) return std::nullopt;
  auto found = types->find(axis);
  return found == types->end() ? std::nullopt : std::optional(found->second);
}

std::optional<TypeOnAxis> TypedTensor::full_type_on(const std::string& axis) const {
  std::optional<SpmdType> type = type_on(axis);
  if (!type) return std::nullopt;
  return TypeOnAxis{*type, cut_dim(spec, axis)};
}

void TypedTensor::set_type(const std::string& axis, const TypeOnAxis& type, bool keeps_cut) {
  if (!types) types.emplace();
  (*types)[axis] = type.type;
  if (type.is_shard())
    spec = with_cut(std::move(spec), std::int64_t(shape.size()), *type.shard_dim, axis);
  else if (!keeps_cut)
    spec = without(std::move(spec), axis);
}

std::int64_t TypingContext::size_of(const std::string& axis) const {
  for (const MeshAxis& one : axes)
    if (one.name == axis) return one.size;
  raise(ErrorKind::key_error, "sharding/typed", "expected an axis of the mesh, got '{}'", axis);
}

}  // namespace simmesh::typed
