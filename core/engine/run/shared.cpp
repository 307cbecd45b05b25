#include "core/engine/run/shared.h"

#include "core/check/fold_hash.h"
#include "core/engine/ranks/rank.h"
#include "core/engine/run/run.h"

namespace simmesh {

SharedObject::SharedObject(std::string_view name) {
  FoldHash hash(name.size());
  for (char letter : name) hash.fold(std::uint64_t(letter));
  number_ = hash.value();
}

void SharedObject::touch(const CallSite& site) const {
  Rank& rank = this_rank();
  rank.run().touch(rank, number_, site);
  rank.run().touches().mark_sensitive(number_);
}

}  // namespace simmesh
