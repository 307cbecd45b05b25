#include "sharding/optim/box_exchange.h"

#include "collectives/collectives.h"
#include "core/tensor/flat.h"

namespace simmesh {

void BoxExchange::move(Route route, DType dtype, const Ends& ends) {
  dtypes_.insert(dtype);
  std::int64_t own = group_.rank();
  if (route.from == own) sent_[dtype][route.to].push_back(ends.source);
  if (route.to == own) received_[dtype][route.from].push_back(ends.target);
}

void BoxExchange::run(CallSite site) {
  Ledger::Category category(MemoryCategory::communication);
  for (DType dtype : dtypes_) {
    std::vector<Tensor> pieces;
    for (std::int64_t to = 0; to < group_.size(); ++to)
      pieces.push_back(flattened(sent_[dtype][to], dtype));
    std::vector<Tensor> arrived =
        group_.size() > 1 ? all_to_all_list(pieces, group_, site) : std::move(pieces);
    for (auto& [from, targets] : received_[dtype]) {
      std::vector<Shape> shapes;
      for (const Tensor& target : targets) shapes.push_back(target.shape());
      std::vector<Tensor> parts = flat_parts(arrived[std::size_t(from)], shapes);
      for (std::size_t i = 0; i < targets.size(); ++i) copy_(targets[i], parts[i]);
    }
  }
  dtypes_.clear();
  sent_.clear();
  received_.clear();
}

}  // namespace simmesh
