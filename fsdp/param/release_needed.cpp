#include "fsdp/param/release_needed.h"

#include "core/engine/run/followed_release.h"

namespace simmesh::fsdp {

void require_release(const Feature& feature, ReleaseChange change) {
  if (!follows(change))
    raise(feature.error, "fsdp/release_needed", "{} needs PyTorch {}, got the release {}",
          feature.name, to_string(row_of(change).since), to_string(followed_release()));
}

}  // namespace simmesh::fsdp
