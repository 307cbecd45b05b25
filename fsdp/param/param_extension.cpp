#include <cstring>

#include "core/autograd/saved_tensor.h"
#include "core/check/error.h"
#include "core/tensor/flat.h"
#include "fsdp/param/param.h"

namespace simmesh::fsdp {

namespace {

constexpr std::string_view extension_source = "fsdp/gather_extension";

std::string described(const Tensor& tensor) {
  return fmt::format("{}{}", to_string(tensor.dtype()), to_string(DimSpan(tensor.shape())));
}

// Returns the tensors of all ranks; each row holds one at an offset.
Tensor concatenated(const Tensor& own, const FSDPParam::GatheredRows& rows, std::size_t offset) {
  Shape shape = own.shape();
  shape[0] *= rows.count;
  Tensor all = empty(DimSpan(shape), own.dtype());
  if (own.bytes() == 0 || !all.has_elements()) return all;
  std::byte* target = all.mutable_data();
  for (std::int64_t i = 0; i < rows.count; ++i)
    std::memcpy(target + std::size_t(i) * own.bytes(),
                rows.first + std::size_t(i) * rows.stride + offset, own.bytes());
  return all;
}

}  // namespace

Tensor FSDPParam::extended_input() {
  sent_ = sharding_.extension->pre_all_gather(sharded_data_.view(padded_shape_));
  std::vector<Tensor> bytes;
  for (const Tensor& tensor : sent_) {
    if (tensor.dim() == 0 || !tensor.is_contiguous())
      raise(ErrorKind::value_error, extension_source,
            "expected contiguous tensors with at least one dim from pre_all_gather, got {} for {}",
            described(tensor), slots_.owner.name);
    bytes.push_back(as_bytes(tensor));
  }
  return flattened(bytes, DType::uint8);
}

void FSDPParam::take_extended(const GatheredRows& rows) {
  std::vector<Tensor> gathered;
  std::size_t offset = 0;
  for (const Tensor& own : std::exchange(sent_, {})) {
    gathered.push_back(concatenated(own, rows, offset));
    offset += own.bytes();
  }
  DType dtype = param_dtype_.value_or(orig_dtype_);
  Tensor whole = sharding_.extension->post_all_gather(gathered, dtype);
  if (whole.shape() != shape_ || whole.dtype() != dtype)
    raise(ErrorKind::value_error, extension_source,
          "expected {}{} from post_all_gather, got {} for {}", to_string(dtype),
          to_string(DimSpan(shape_)), described(whole), slots_.owner.name);
  prepare_unsharded(dtype);
  PreservedVersion same_values(unsharded_data_);
  Tensor local = unsharded_local();
  copy_(local, whole);
}

}  // namespace simmesh::fsdp
