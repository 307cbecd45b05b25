#include "sharding/paddle/spmd/spmd_call.h"

namespace simmesh::paddle {

namespace {

const SpmdArgument& argument_of(const SpmdCall& call, std::size_t index, bool is_list) {
  if (index >= call.inputs.size() || call.inputs[index].is_list != is_list)
    refuse_argument(call, "expected argument {} to be {}, got {} arguments", index,
                    is_list ? "a list of tensors" : "a tensor", call.inputs.size());
  return call.inputs[index];
}

template <class Value>
const Value* find(const SpmdCall& call, std::size_t index) {
  return index < call.attributes.size() ? std::get_if<Value>(&call.attributes[index]) : nullptr;
}

template <class Value>
const Value& attribute_of(const SpmdCall& call, std::size_t index, std::string_view what) {
  const Value* value = find<Value>(call, index);
  if (value == nullptr)
    refuse_argument(call, "expected attribute {} to be {}, got {} attributes", index, what,
                    call.attributes.size());
  return *value;
}

}  // namespace

const SpmdTensor& SpmdCall::tensor(std::size_t index) const {
  return argument_of(*this, index, false).tensors.front();
}

const std::vector<SpmdTensor>& SpmdCall::tensors(std::size_t index) const {
  return argument_of(*this, index, true).tensors;
}

bool SpmdCall::boolean(std::size_t index) const {
  return attribute_of<bool>(*this, index, "a bool");
}

std::int64_t SpmdCall::integer(std::size_t index) const {
  return attribute_of<std::int64_t>(*this, index, "an integer");
}

std::string SpmdCall::text(std::size_t index) const {
  return attribute_of<std::string>(*this, index, "a text");
}

std::vector<std::int64_t> SpmdCall::integers(std::size_t index) const {
  if (const std::int64_t* one = find<std::int64_t>(*this, index)) return {*one};
  return attribute_of<std::vector<std::int64_t>>(*this, index, "integers");
}

std::size_t SpmdCall::dim_of(std::int64_t dim, std::size_t dims) const {
  std::int64_t count = std::int64_t(dims);
  if (dim < -count || dim >= count)
    raise(ErrorKind::index_error, "sharding/paddle", "{}: expected a dim of a tensor of {}, got {}",
          op, dims, dim);
  return std::size_t(dim < 0 ? dim + count : dim);
}

void SpmdCall::require_dims(const SpmdTensor& tensor, std::size_t least) const {
  if (tensor.shape.size() < least)
    refuse_argument(*this, "expected a tensor of at least {} dims, got {}", least,
                    simmesh::to_string(tensor.shape));
}

DistAttr attr_of(DimSpan single) {
  DistAttr attr = DistAttr::replicated(single.size());
  for (std::size_t dim = 0; dim < single.size(); ++dim)
    if (single[dim] >= 0) attr.dims_mapping[dim] = {single[dim]};
  return attr;
}

}  // namespace simmesh::paddle
