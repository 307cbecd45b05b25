#pragma once

namespace simmesh {

// Integers of 128 bits, which gcc and clang have as an extension.
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

}  // namespace simmesh
