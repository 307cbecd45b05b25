#pragma once

namespace simmesh {

class Rank;
class Run;

// serve_as_deputy is the body of a deputy: it does the deputy's work, one piece after the other,
// and rests while there is none. It returns only by RankEnded, once the run has ended.
void serve_as_deputy(Run& run, Rank& deputy);

}  // namespace simmesh
