#include "checkpoint/tools/verify.h"

#include <algorithm>
#include <set>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/deepspeed/deepspeed_checkpoint.h"
#include "checkpoint/read/open.h"
#include "checkpoint/read/read_tensor.h"
#include "core/check/bits_hash.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

// Runs a check, and keeps what it raises.
template <class Check>
void keep_error(std::vector<std::string>& problems, const Check& check) {
  try {
    check();
  } catch (const Error& error) {
    problems.emplace_back(error.message());
  }
}

void verify_chunks(const Store& store, const OpenCheckpoint& opened,
                   std::vector<std::string>& problems) {
  for (const StoredTensor& tensor : opened.catalog.tensors)
    for (const StoredChunk& chunk : tensor.chunks)
      keep_error(problems, [&] { read_chunk(store, opened.folder, tensor, chunk); });
}

// Files of a checkpoint of ours that lies in a folder, or of that part of it which the location is:
// their sizes, their headers, and that there are no others.
void verify_files(const Location& location, const std::string& folder,
                  std::vector<std::string>& problems) {
  const Store& store = *location.store;
  Manifest manifest = read_manifest(store, folder);
  std::string below = location.name.empty() ? "" : location.name + "/";
  std::set<std::string> expected = {joined(folder, manifest_file), joined(folder, commit_file)};
  for (const ManifestFile& file : manifest.files) {
    std::string path = joined(folder, file.name);
    if (!path.starts_with(below)) continue;
    expected.insert(path);
    std::optional<std::int64_t> size = store.size(path);
    if (size != file.bytes) {
      problems.push_back(fmt::format("{}: {}, expected {} bytes", joined(store.name(), path),
                                     size ? fmt::format("{} bytes", *size) : "missing",
                                     file.bytes));
      continue;
    }
    std::vector<std::byte> header(static_cast<std::size_t>(file.header_bytes));
    store.read(path, 0, header);
    if (bits_hash(header) != file.header_hash)
      problems.push_back(fmt::format("{}, bytes [0, {}): the header is corrupt",
                                     joined(store.name(), path), file.header_bytes));
  }
  for (const std::string& file : store.files(location.name))
    if (std::string path = joined(location.name, file); !expected.contains(path))
      problems.push_back(
          fmt::format("{}: not a file of the checkpoint", joined(store.name(), path)));
}

}  // namespace

std::vector<std::string> verify(const Location& location) {
  std::vector<std::string> problems;
  keep_error(problems, [&] {
    OpenCheckpoint opened = open(location);
    if (opened.catalog.format == "simmesh") verify_files(location, opened.folder, problems);
    if (opened.catalog.format == "deepspeed")
      problems = deepspeed_problems(*location.store,
                                    *find_deepspeed_files(*location.store, opened.folder));
    verify_chunks(*location.store, opened, problems);
  });
  return problems;
}

}  // namespace simmesh::checkpoint
