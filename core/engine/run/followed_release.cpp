#include "core/engine/run/followed_release.h"

#include "core/engine/run/run.h"

namespace simmesh {

Release followed_release() {
  return in_rank() ? this_rank().run().options().release : newest_release;
}

bool follows(ReleaseChange change) { return has(followed_release(), change); }

}  // namespace simmesh
