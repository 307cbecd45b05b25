#include "fsdp/param/release_needed.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"
#include "tests/expect_error.h"

namespace simmesh::fsdp {
namespace {

// If this fails, a program runs under a release of PyTorch that would have refused it.
TEST(ReleaseNeeded, RefusesUnderOlderReleasesOnly) {
  ReleaseChange change = release_changes()[0].change;
  Feature feature{ErrorKind::attribute_error, "this feature"};
  World({.ranks = 1, .release = Release::v2_13})
      .run([&](Rank&) {
        simmesh::testing::expect_error([&] { require_release(feature, change); },
                                       ErrorKind::attribute_error,
                                       "this feature needs PyTorch 2.15, got the release 2.13");
      })
      .rethrow();
  World({.ranks = 1, .release = Release::v2_15})
      .run([&](Rank&) { EXPECT_NO_THROW(require_release(feature, change)); })
      .rethrow();
}

}  // namespace
}  // namespace simmesh::fsdp
