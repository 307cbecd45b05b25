#include "core/tensor/known_tensor.h"

#include <cstring>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/clock/clock.h"
#include "core/engine/run/known.h"
#include "core/engine/run/run.h"
#include "core/engine/run/spread_run.h"
#include "core/memory/data_mode.h"

namespace simmesh {

namespace {

Tensor tensor_of(const Tensor& like, const ProcessBytes& told, std::string_view name) {
  DataModeScope with_data(false);
  Tensor result = empty(like.shape(), like.dtype());
  if (result.bytes() != told.size())
    raise(ErrorKind::runtime_error, "tensor/known",
          "{}: expected {} bytes of the owner's tensor, got {}: the processes have gone apart",
          name, result.bytes(), told.size());
  if (!told.empty()) std::memcpy(result.mutable_data(), told.data(), told.size());
  return result;
}

ProcessBytes elements_of(const Tensor& tensor) {
  Tensor rows = tensor.contiguous();
  return ProcessBytes({rows.data(), rows.bytes()});
}

// Outside any run nobody remembers the owner.
Tensor share_after_run(const Tensor& tensor, std::string_view name) {
  ProcessBytes own;
  if (tensor.has_elements()) own = elements_of(tensor);
  auto told = WorldSpread::active()->of_first(name, tensor.has_elements() ? &own : nullptr);
  return tensor.has_elements() || !told ? tensor : tensor_of(tensor, *told, name);
}

}  // namespace

Tensor share_tensor(const Tensor& tensor, std::string_view name) {
  Rank* rank = Rank::active();
  SpreadRun* spread = rank ? SpreadRun::of(rank->run()) : nullptr;
  bool has_data_everywhere = !tensor.is_defined() || tensor.is_meta();
  if (KnownScope::is_open() || has_data_everywhere) return tensor;
  if (!rank) return share_after_run(tensor, name);
  if (!spread) return tensor;
  Ledger::Uncharged nobody;
  Clock::Quiet no_copy;
  int owner = spread->owner(rank->id());
  ProcessBytes own;
  if (owner == spread->process()) own = elements_of(tensor);
  ProcessBytes told = spread->share(name, owner, own);
  if (owner == spread->process()) return tensor;
  return tensor_of(tensor, told, name);
}

bool known_same_bits(const Tensor& a, const Tensor& b) {
  auto compare = [&] { return std::string(same_bits(a, b) ? "same" : ""); };
  return !known_text("same_bits", compare).empty();
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
