#include <algorithm>
#include <cstring>

#include <simmesh/collectives/collectives.h>
#include <simmesh/fsdp/all_gather.h>

namespace simmesh::fsdp {

namespace {

Tensor joined(const std::vector<Tensor>& parts) {
  bool one_dtype = std::all_of(parts.begin(), parts.end(), [&](const Tensor& part) {
    return part.dtype() == parts[0].dtype();
  });
  std::size_t bytes = 0;
  for (const Tensor& part : parts) bytes += part.bytes();
  DType dtype = one_dtype ? parts[0].dtype() : DType::uint8;
  Tensor result = empty({std::int64_t(bytes / bytes_per_element(dtype))}, dtype);
  if (!result.has_elements()) return result;
  std::byte* target = bytes > 0 ? result.mutable_data() : nullptr;
  for (const Tensor& part : parts) {
    if (part.bytes() == 0) continue;
    std::memcpy(target, part.data(), part.bytes());
    target += part.bytes();
  }
  return result;
}

}  // namespace

PendingGather::PendingGather(const std::vector<std::unique_ptr<FSDPParam>>& params,
                             const ProcessGroup& group, const AllGather& all_gather)
    : ranks_(group.size()) {
  Ledger::Category category(MemoryCategory::communication);
  std::vector<Tensor> inputs;
  for (const auto& param : params) {
    inputs.push_back(param->gather_input());
    parts_.push_back({inputs.back().bytes(), inputs.back().dtype()});
  }
  input_ = joined(inputs);
  if (!communicates()) return;
  work_ = all_gather ? all_gather(input_, group) : all_gather_async(input_, {.dim = 0}, group);
}

Tensor PendingGather::finish(const std::vector<std::unique_ptr<FSDPParam>>& params) {
  Tensor whole = communicates() ? work_.wait() : input_;
  std::size_t offset = 0;
  for (std::size_t i = 0; i < params.size(); ++i) {
    bool has_rows = whole.element_count() > 0 && whole.has_elements();
    const std::byte* first = has_rows ? whole.data() + offset : nullptr;
    params[i]->take_gathered({first, input_.bytes(), parts_[i].bytes, ranks_, parts_[i].dtype});
    offset += parts_[i].bytes;
  }
  return whole;
}

void PendingGather::drop() {
  if (communicates()) work_.wait();
}

}  // namespace simmesh::fsdp
