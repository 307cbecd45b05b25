#pragma once

#include "sharding/validate/joined_pieces.h"

namespace simmesh {

// make_whole is true if the pieces are proven to make the whole tensor, bit for bit, as
// what_differs says it. Copies and cut pieces are compared with their part of the whole, so nothing
// is joined; only partial pieces are reduced. It is false where something differs, and for masks
// and norms: what_differs decides those.
bool make_whole(const JoinedPieces& joined, const Tensor& whole);

}  // namespace simmesh
