#include "core/tensor/known_tensor.h"

#include <cstring>

#include "core/check/check.h"
#include "core/clock/clock.h"
#include "core/engine/run/known.h"
#include "core/engine/run/run.h"
#include "core/engine/run/spread_run.h"
#include "core/memory/data_mode.h"

namespace simmesh {

Tensor share_tensor(const Tensor& tensor, std::string_view name) {
  Rank* rank = Rank::active();
  SpreadRun* spread = rank ? SpreadRun::of(rank->run()) : nullptr;
  bool has_data_everywhere = !tensor.is_defined() || tensor.is_meta();
  if (!spread || KnownScope::is_open() || has_data_everywhere) return tensor;
  Ledger::Uncharged nobody;
  Clock::Quiet no_copy;
  int owner = spread->owner(rank->id());
  ProcessBytes own;
  if (owner == spread->process()) {
    Tensor rows = tensor.contiguous();
    own.assign(rows.data(), rows.data() + rows.bytes());
  }
  ProcessBytes told = spread->share(name, owner, own);
  if (owner == spread->process()) return tensor;
  DataModeScope with_data(false);
  Tensor result = empty(tensor.shape(), tensor.dtype());
  if (result.bytes() != told.size())
    raise(ErrorKind::runtime_error, "tensor/known",
          "{}: expected {} bytes of the owner's tensor, got {}: the processes have gone apart",
          name, result.bytes(), told.size());
  if (!told.empty()) std::memcpy(result.mutable_data(), told.data(), told.size());
  return result;
}

void take_elements(const Tensor& tensor, const Tensor& from) {
  SIMMESH_CHECK(tensor.is_contiguous() && tensor.bytes() == tensor.storage()->bytes(),
                "elements for a part of a storage");
  DataModeScope with_data(false);
  std::uint32_t changes = tensor.storage()->changes();
  tensor.storage()->adopt(from.storage()->buffer(), from.storage()->buffer_offset());
  tensor.storage()->set_changes(changes);
}

}  // namespace simmesh
