#include "fsdp/all_gather.h"

#include <algorithm>
#include <cstring>

#include "collectives/collective_call.h"
#include "collectives/device_launch.h"
#include "core/tensor/launch.h"

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
                             const ProcessGroup& group, const AllGather& all_gather,
                             const GatherStreams& streams)
    : ranks_(group.size()), is_async_(streams.is_async) {
  Ledger::Category category(MemoryCategory::communication);
  {
    StreamScope scope(streams.copy_in);
    copy_in(params, group, communicates() && !all_gather);
  }
  streams.gather.wait(streams.copy_in);
  StreamScope scope(streams.gather);
  if (communicates() && all_gather) {
    work_ = all_gather(input_, group);
  } else if (communicates()) {
    CollectiveCall call{
        .op = CollectiveOp::all_gather, .inputs = {&input_, 1}, .site = CallSite::here()};
    work_ = start_collective(group, call, {.into = output_, .on_current_stream = !is_async_});
    Clock* clock = Clock::active();
    if (streams.records_streams && clock)
      communicator_stream(group, *clock).uses(output_.storage()->address());
  }
  gathered_ = streams.gather.record();
}

// Where the buffer of the whole is allocated, the input is a part of it as the device sees it.
void PendingGather::copy_in(const std::vector<std::unique_ptr<FSDPParam>>& params,
                            const ProcessGroup& group, bool allocates_output) {
  std::vector<Tensor> inputs;
  bool from_host = false;
  for (const auto& param : params) {
    inputs.push_back(param->gather_input());
    parts_.push_back({inputs.back().bytes(), inputs.back().dtype()});
    from_host |= param->is_offloaded();
  }
  if (!allocates_output) {
    input_ = joined(inputs);
    launch({.name = "all_gather_copy_in",
            .reads = inputs,
            .writes = {&input_, 1},
            .copies_host_memory = from_host});
    return;
  }
  {
    Ledger::Uncharged in_output;
    input_ = joined(inputs);
  }
  std::int64_t numel = input_.element_count();
  output_ = empty_meta(Dims{numel * ranks_}, input_.dtype(), true);
  Tensor own = output_.narrow({0, numel * group.rank(), numel});
  launch({.name = "all_gather_copy_in",
          .reads = inputs,
          .writes = {&own, 1},
          .copies_host_memory = from_host});
}

Tensor PendingGather::finish(const std::vector<std::unique_ptr<FSDPParam>>& params,
                             bool wait_on_stream) {
  if (wait_on_stream) Stream::current().wait(gathered_);
  Tensor whole = communicates() ? work_.wait() : input_;
  std::vector<Tensor> written;
  {
    Clock::Quiet parts_of_one;
    std::size_t offset = 0;
    for (std::size_t i = 0; i < params.size(); ++i) {
      bool has_rows = whole.element_count() > 0 && whole.has_elements();
      const std::byte* first = has_rows ? whole.data() + offset : nullptr;
      params[i]->take_gathered({first, input_.bytes(), parts_[i].bytes, ranks_, parts_[i].dtype});
      offset += parts_[i].bytes;
      written.push_back(params[i]->unsharded_data());
    }
  }
  launch({.name = "all_gather_copy_out", .reads = {&whole, 1}, .writes = written});
  return whole;
}

void PendingGather::drop() {
  Stream::current().wait(gathered_);
  if (communicates()) work_.wait();
}

}  // namespace simmesh::fsdp
