#pragma once

// Each rank has a stack of its own. A rank that waits keeps the frames of all its callers there,
// and reads them again when it continues. With 100,000 ranks these frames decide how much memory a
// world takes and how long a switch lasts, so the way on which ranks wait has few and small ones.

// SIMMESH_OWN_FRAME is for a function beside that way: one that is rarely needed, or done before a
// rank waits. Its locals would widen its caller's frame.
#define SIMMESH_OWN_FRAME [[gnu::noinline]]

// SIMMESH_CALLERS_FRAME is for a function on that way which is small enough to be a part of its
// caller.
#define SIMMESH_CALLERS_FRAME [[gnu::always_inline]] inline

// SIMMESH_ONE_FRAME is for a function on that way that has everything it calls in its own frame.
#define SIMMESH_ONE_FRAME [[gnu::flatten]]
