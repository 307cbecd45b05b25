#include "checkpoint/tools/verify.h"

#include "checkpoint/format/formats.h"
#include "checkpoint/read/open.h"
#include "checkpoint/read/read_tensor.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

// Runs a check, and keeps the text of an Error that it raises.
template <class Check>
void keep_error(std::vector<std::string>& problems, const Check& check) {
  try {
    check();
  } catch (const Error& error) {
    problems.emplace_back(error.message());
  }
}

}  // namespace

std::vector<std::string> verify(const Location& location) {
  std::vector<std::string> problems;
  keep_error(problems, [&] {
    OpenCheckpoint opened = open(location);
    if (const Format* format = find_format(opened.catalog.format); format->problems)
      problems = format->problems(location, opened);
    for (const StoredTensor& tensor : opened.catalog.tensors)
      for (const StoredChunk& chunk : tensor.chunks)
        keep_error(problems, [&] { read_chunk(*location.store, opened, tensor, chunk); });
  });
  return problems;
}

}  // namespace simmesh::checkpoint
