#pragma once

#include "pipeline/schedule/row.h"

namespace simmesh::pipeline {

// merge_bw makes a B of each I and W of one stage and micro-batch that follow one another, with
// nothing but idle slots between them. Idle slots vanish. No schedule uses it.
Row merge_bw(const Row& row);

}  // namespace simmesh::pipeline
