#include "checkpoint/mapping/mapping.h"

#include <algorithm>
#include <numeric>

#include "checkpoint/mapping/macros.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::string_view state_endings[] = {".w_0", ".moment1_0", ".moment2_0"};
constexpr std::string_view power_endings[] = {".beta1_pow_acc_0", ".beta2_pow_acc_0"};

[[noreturn]] void refuse_statement(const Statement& statement, const std::string& why) {
  raise(ErrorKind::value_error, "checkpoint/mapping", "'{}': {}", statement.text, why);
}

std::size_t dim_of(const Statement& statement, std::int64_t axis, const MappedTensor& tensor) {
  std::int64_t dims = std::int64_t(tensor.shape.size());
  std::int64_t dim = axis < 0 ? axis + dims : axis;
  if (dim < 0 || dim >= dims)
    refuse_statement(statement,
                     fmt::format("axis {} of a tensor of shape {}", axis, to_string(tensor.shape)));
  return std::size_t(dim);
}

std::vector<std::size_t> permutation_of(const Statement& statement, const MappedTensor& tensor) {
  std::size_t dims = tensor.shape.size();
  std::vector<std::size_t> permutation(dims);
  if (statement.permute->empty()) {
    for (std::size_t i = 0; i < dims; ++i) permutation[i] = dims - 1 - i;
    return permutation;
  }
  std::vector<bool> seen(dims, false);
  bool is_permutation = statement.permute->size() == dims;
  for (std::size_t i = 0; is_permutation && i < dims; ++i) {
    std::int64_t dim = (*statement.permute)[i];
    if (dim < 0) dim += std::int64_t(dims);
    is_permutation = dim >= 0 && dim < std::int64_t(dims) && !seen[std::size_t(dim)];
    if (!is_permutation) break;
    seen[std::size_t(dim)] = true;
    permutation[i] = std::size_t(dim);
  }
  if (!is_permutation)
    refuse_statement(
        statement, fmt::format("permute {} of a tensor of shape {}", to_string(*statement.permute),
                               to_string(tensor.shape)));
  return permutation;
}

std::vector<MappedTensor> cut_evenly(const Statement& statement, const MappedTensor& tensor,
                                     std::size_t dim, std::size_t parts) {
  std::int64_t size = tensor.shape[dim];
  if (size % std::int64_t(parts) != 0)
    refuse_statement(statement, fmt::format("size {} of dim {} can't be cut into {} equal parts",
                                            size, dim, parts));
  std::vector<MappedTensor> result;
  std::int64_t length = size / std::int64_t(parts);
  for (std::size_t i = 0; i < parts; ++i)
    result.push_back(tensor.cut(dim, length * std::int64_t(i), length));
  return result;
}

// HeadSizes are the sizes of heads along the axis of a fused tensor. For each key-value group it
// has the group's query heads, a key head and a value head. q, k and v have their heads in order.
struct HeadSizes {
  std::int64_t groups, head, queries;  // queries are the sizes of a group's query heads together

  HeadSizes(const Statement& statement, std::int64_t fused)
      : groups(statement.num_key_value_groups) {
    std::int64_t heads = statement.num_heads + 2 * groups;
    if (fused % heads != 0)
      refuse_statement(statement, fmt::format("a dim of {} can't hold {} heads", fused, heads));
    head = fused / heads;
    queries = head * (statement.num_heads / groups);
  }
  std::int64_t group() const { return queries + 2 * head; }
};

std::vector<MappedTensor> split_heads(const Statement& statement, const MappedTensor& fused) {
  std::size_t dim = dim_of(statement, statement.axis.value_or(-1), fused);
  HeadSizes sizes(statement, fused.shape[dim]);
  std::vector<MappedTensor> q, k, v;
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    std::int64_t begin = group * sizes.group();
    q.push_back(fused.cut(dim, begin, sizes.queries));
    k.push_back(fused.cut(dim, begin + sizes.queries, sizes.head));
    v.push_back(fused.cut(dim, begin + sizes.queries + sizes.head, sizes.head));
  }
  return {joined(q, dim), joined(k, dim), joined(v, dim)};
}

MappedTensor join_heads(const Statement& statement, const std::vector<MappedTensor>& tensors) {
  std::size_t dim = dim_of(statement, statement.axis.value_or(-1), tensors[0]);
  std::int64_t fused = 0;
  for (const MappedTensor& tensor : tensors) fused += tensor.shape[dim];
  HeadSizes sizes(statement, fused);
  if (tensors[0].shape[dim] != sizes.queries * sizes.groups ||
      tensors[1].shape[dim] != sizes.head * sizes.groups ||
      tensors[2].shape[dim] != sizes.head * sizes.groups)
    refuse_statement(statement, "q, k and v don't have the sizes of their heads");
  std::vector<MappedTensor> parts;
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    parts.push_back(tensors[0].cut(dim, group * sizes.queries, sizes.queries));
    parts.push_back(tensors[1].cut(dim, group * sizes.head, sizes.head));
    parts.push_back(tensors[2].cut(dim, group * sizes.head, sizes.head));
  }
  return joined(parts, dim);
}

std::vector<MappedTensor> made(const Statement& statement, const std::vector<MappedTensor>& from) {
  using Form = Statement::Form;
  std::size_t parts = statement.right.size();
  if (statement.form == Form::fused_qkv_old) {
    if (from.size() != 1 || parts != 1)
      refuse_statement(statement, "fused_qkv_old takes one name and gives one");
    return from;
  }
  if (statement.form == Form::fused_qkv) {
    if (from.size() == 3 && parts == 1) return {join_heads(statement, from)};
    if (from.size() == 1 && parts == 3) return split_heads(statement, from[0]);
    refuse_statement(statement, "fused_qkv takes q, k and v and gives one, or the other way round");
  }
  if (from.size() == 1 && parts == 1) return from;
  if (statement.form == Form::plain && !statement.axis)
    refuse_statement(statement, "joining or cutting needs an axis");
  std::size_t dim = dim_of(statement, statement.axis.value_or(-1), from[0]);
  if (parts == 1) return {joined(from, dim)};
  return cut_evenly(statement, from[0], dim, parts);
}

}  // namespace

Mapping::Mapping(const std::vector<std::string>& statements,
                 const std::map<std::string, StoredShape>& stored)
    : stored_(stored) {
  for (const auto& [name, shape] : stored_)
    tensors_.emplace(name, MappedTensor::of(name, shape.shape, shape.dtype));
  for (const std::string& text : statements)
    for (const Statement& statement : expanded(parse_statement(text), stored_)) run(statement);
}

const MappedTensor* Mapping::find(const std::string& name) const {
  auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

bool Mapping::is_left_alone(const std::string& name) const { return left_alone_.contains(name); }
bool Mapping::is_used(const std::string& stored) const { return used_.contains(stored); }

void Mapping::run(const Statement& statement) {
  if (statement.left[0] == "_") {
    left_alone_[statement.right[0]] = true;
    return;
  }
  run_states(statement);
  apply(statement);
}

std::vector<MappedTensor> Mapping::taken(const Statement& statement) const {
  std::vector<MappedTensor> from;
  for (const std::string& name : statement.left) {
    const MappedTensor* tensor = find(name);
    if (tensor == nullptr)
      refuse_statement(statement, "'" + name + "' is neither stored nor made by a statement");
    from.push_back(*tensor);
  }
  return from;
}

void Mapping::apply(const Statement& statement) {
  for (const std::string& name : statement.left) used_[name] = true;
  std::vector<MappedTensor> from = taken(statement);
  if (statement.right[0] == "_") return;
  std::vector<MappedTensor> to;
  try {
    to = made(statement, from);
  } catch (const Error& error) {
    if (error.message().starts_with('\'')) throw;
    refuse_statement(statement, std::string(error.message()));
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (statement.permute) to[i] = to[i].permuted(permutation_of(statement, to[i]));
    if (statement.dtype) to[i] = to[i].cast(*statement.dtype);
  }
  // A name that a statement made is used up. A stored name stays, since it may be a target too.
  for (std::size_t i = 0; i < to.size(); ++i) {
    left_alone_.erase(statement.right[i]);
    tensors_.insert_or_assign(statement.right[i], std::move(to[i]));
  }
}

void Mapping::run_states(const Statement& statement) {
  auto with_ending = [](std::vector<std::string> names, std::string_view ending) {
    for (std::string& name : names)
      if (name != "_") name += ending;
    return names;
  };
  auto are_stored = [&](const std::vector<std::string>& names) {
    return std::all_of(names.begin(), names.end(),
                       [&](const std::string& name) { return tensors_.contains(name); });
  };
  for (std::string_view ending : state_endings) {
    Statement of_state = statement;
    of_state.left = with_ending(statement.left, ending);
    of_state.right = with_ending(statement.right, ending);
    if (!are_stored(of_state.left)) continue;
    if (tensors_.at(of_state.left[0]).dtype() == DType::float32) of_state.dtype.reset();
    apply(of_state);
  }
  for (std::string_view ending : power_endings) {
    std::vector<std::string> left = with_ending(statement.left, ending);
    if (!are_stored(left)) continue;
    for (const std::string& name : left) used_[name] = true;
    MappedTensor power = tensors_.at(left[0]);
    for (const std::string& name : with_ending(statement.right, ending))
      if (name != "_") tensors_.insert_or_assign(name, power);
  }
}

}  // namespace simmesh::checkpoint
