#include "sharding/dtensor/implicit_replication.h"

#include "core/engine/ranks/local_state.h"

namespace simmesh {

namespace {

struct OpenScopes {
  int count = 0;
};

OpenScopes& open_scopes() { return local_state<OpenScopes>(); }

}  // namespace

ImplicitReplication::ImplicitReplication() { ++open_scopes().count; }

ImplicitReplication::~ImplicitReplication() { --open_scopes().count; }

bool ImplicitReplication::is_on() { return open_scopes().count > 0; }

}  // namespace simmesh
