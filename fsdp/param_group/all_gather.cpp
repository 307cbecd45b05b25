#include "fsdp/param_group/all_gather.h"

#include <algorithm>

#include "collectives/collective_call.h"
#include "core/check/join_text.h"
#include "core/engine/ranks/call_contents.h"
#include "core/tensor/flat.h"
#include "core/tensor/launch.h"

namespace simmesh::fsdp {

PendingGather::PendingGather(const std::vector<std::unique_ptr<FSDPParam>>& params,
                             const ProcessGroup& group, const AllGather& all_gather,
                             const GatherStreams& streams)
    : ranks_(group.size()), is_async_(streams.is_async) {
  Ledger::Category category(MemoryCategory::communication);
  {
    StreamScope scope(streams.copy_in);
    copy_in(params, group, all_gather);
  }
  streams.gather.wait(streams.copy_in);
  StreamScope scope(streams.gather);
  std::vector<std::string> names;
  for (const auto& param : params) names.push_back(param->name());
  contents_ = join_text(names, ", ");
  if (communicates()) work_ = start(group, all_gather, streams.site);
  gathered_ = streams.gather.record();
}

Work PendingGather::start(const ProcessGroup& group, const AllGather& all_gather,
                          const CallSite& site) const {
  if (all_gather.call)
    return all_gather.call(
        {.input = input_, .output = output_, .group = group, .async_op = is_async_});
  CallContents contents(contents_);
  CollectiveCall call{.op = CollectiveOp::all_gather, .inputs = {&input_, 1}, .site = site};
  return start_collective(group, call, {.into = output_, .on_current_stream = !is_async_});
}

std::vector<Tensor> PendingGather::take_parts(
    const std::vector<std::unique_ptr<FSDPParam>>& params) {
  std::vector<Tensor> parts;
  for (const auto& param : params) {
    parts.push_back(param->gather_input());
    parts_.push_back({parts.back().bytes(), parts.back().dtype()});
  }
  return parts;
}

void PendingGather::copy_in(const std::vector<std::unique_ptr<FSDPParam>>& params,
                            const ProcessGroup& group, const AllGather& all_gather) {
  std::vector<Tensor> parts = take_parts(params);
  bool from_host = std::any_of(params.begin(), params.end(),
                               [](const auto& param) { return param->is_offloaded(); });
  join_parts(parts, group, all_gather);
  Tensor written = output_.is_defined()
                       ? output_.narrow({0, input_.numel() * group.rank(), input_.numel()})
                       : input_;
  launch({.name = "all_gather_copy_in",
          .reads = parts,
          .writes = {&written, 1},
          .copies_host_memory = from_host});
}

// Where the buffer of the whole is allocated, a device reads the input as a part of it.
void PendingGather::join_parts(const std::vector<Tensor>& parts, const ProcessGroup& group,
                               const AllGather& all_gather) {
  Clock::Quiet one_copy;
  DType dtype = parts[0].dtype();
  std::vector<Tensor> joined = parts;
  if (!std::all_of(parts.begin(), parts.end(),
                   [&](const Tensor& part) { return part.dtype() == dtype; })) {
    std::transform(parts.begin(), parts.end(), joined.begin(), as_bytes);
    dtype = DType::uint8;
  }
  std::int64_t numel = 0;
  for (const Tensor& part : joined) numel += part.numel();
  if (communicates() && all_gather.allocate) {
    output_ = allocated(all_gather.allocate, {numel * ranks_}, dtype);
    input_ = output_.narrow({0, numel * group.rank(), numel});
    return copy_flat_(input_, joined);
  }
  bool is_part_of_output = communicates() && !all_gather.call;
  {
    Ledger::Uncharged in_output(is_part_of_output);
    input_ = flattened(joined, dtype);
  }
  if (is_part_of_output) output_ = empty_meta(Dims{numel * ranks_}, dtype, true);
}

Tensor PendingGather::finish(const std::vector<std::unique_ptr<FSDPParam>>& params) {
  Tensor whole = communicates() ? work_.wait() : input_;
  std::vector<Tensor> written;
  {
    Clock::Quiet parts_of_one;
    std::size_t offset = 0;
    for (std::size_t i = 0; i < params.size(); ++i) {
      bool has_rows = whole.numel() > 0 && whole.has_elements();
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
