#include "core/check/hash_text.h"
#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

void read_hash(GateTable& table, const ExpectUse&, GateExpect& expect) {
  expect.hash = table.text("hash", "");
  bool is_hash = expect.hash.empty() ||
                 (expect.hash.size() == 16 &&
                  expect.hash.find_first_not_of("0123456789abcdef") == expect.hash.npos);
  if (!is_hash) table.reject("hash", "16 digits of 0-9a-f");
}

void explain_hash(const GateExpect& expect, TomlTable& table) { table.word("hash", expect.hash); }

bool asks_for_hash(const GateFile& gate) { return !gate.expect.hash.empty(); }

void check_hash(CheckedRun& checked) {
  std::string actual = hash_text(checked.result.data_hash);
  checked.add("hash", actual == checked.gate.expect.hash, checked.gate.expect.hash, actual);
}

const CheckKind hash_kind(CheckKind::OfKeys{.keys = {"hash"},
                                            .after = "loss",
                                            .needs_data = true,
                                            .reads = read_hash,
                                            .explains = explain_hash,
                                            .is_asked = asks_for_hash,
                                            .runs = check_hash});

}  // namespace

}  // namespace simmesh
