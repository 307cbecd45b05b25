#include "core/autograd/view_record.h"

#include <fmt/format.h>

#include "core/check/error.h"
#include "core/ops/call.h"

namespace simmesh {

Tensor ViewRecord::view_of(const Tensor& base_like) const {
  Tensor result = base_like;
  for (const ViewStep& step : steps)
    result = call(*step.op, {result}, step.attributes)[step.output];
  return result;
}

std::uint32_t changes_of(const Tensor& tensor) {
  if (tensor.storage()) return tensor.storage()->changes();
  StoragePtr storage = tensor.local_part().storage();
  return storage ? storage->changes() : 0;
}

void check_view(ViewKind kind, const Edge& made_by, ViewChange change, std::string_view where) {
  if (kind != ViewKind::one_of_several && kind != ViewKind::unrecorded) return;
  std::string_view changed =
      change == ViewChange::itself ? "is being" : "its base or another view of its base has been";
  std::string text;
  if (made_by.node)
    text = fmt::format(
        "Output {} of {} is a view{} and {} modified inplace", made_by.output, made_by.node->name(),
        kind == ViewKind::unrecorded ? " of a view which was created in no_grad mode" : "",
        changed);
  else
    text = fmt::format("A view was created in no_grad mode and {} modified inplace", changed);
  if (kind == ViewKind::unrecorded || !made_by.node) text += " with grad mode enabled";
  text +=
      kind == ViewKind::one_of_several
          ? ". This view is the output of a function that returns multiple views. Such functions "
            "do not allow the output views to be modified inplace. You should replace the "
            "inplace operation by an out-of-place one."
          : ". Given that this use case is ambiguous and error-prone, it is forbidden. You can "
            "clarify your code by moving both the view and the inplace either both inside the "
            "no_grad block (if you don't want the inplace to be tracked) or both outside (if "
            "you want the inplace to be tracked).";
  raise(ErrorKind::runtime_error, where, "{}", text);
}

}  // namespace simmesh
