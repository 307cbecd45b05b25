#pragma once

#include "core/release/release_change.h"

namespace simmesh {

// followed_release returns the release of the calling rank's world; the newest if no rank calls.
Release followed_release();

// follows is true if the followed release behaves in the new way.
bool follows(ReleaseChange change);

}  // namespace simmesh
