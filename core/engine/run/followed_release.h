#pragma once

#include "core/release/release_change.h"

namespace simmesh {

// followed_release returns the release of the world that the calling rank is in; the newest where
// no rank calls.
Release followed_release();

// follows says whether the followed release behaves in the new way.
bool follows(ReleaseChange change);

}  // namespace simmesh
