#pragma once

#include <string_view>
#include <vector>

namespace simmesh {

class GateExpect;
class GateTable;
class TomlTable;
struct CheckedRun;
struct ExpectUse;
struct GateFile;

// CheckKind is a kind of check that a gate can ask for, by keys of [expect] or by a table of its
// own. An object of it at namespace scope makes the kind known: a kind is one source file in
// gate/checks, and nothing else has to name it. Its functions are references, so that a kind
// without one of them doesn't compile.
class CheckKind {
 public:
  // is_asked is true if a gate asks for the check.
  using IsAsked = bool(const GateFile& gate);
  // runs makes the check after the base run has ended, and adds its lines. It is called if the gate
  // asks for the check.
  using Runs = void(CheckedRun& run);
  // reads reads all keys of the kind, and explains adds them with their values to [expect].
  using Reads = void(GateTable& table, const ExpectUse& use, GateExpect& expect);
  using Explains = void(const GateExpect& expect, TomlTable& table);

  // OfKeys is a kind with keys of [expect]; the first of them is its name.
  struct OfKeys {
    std::vector<std::string_view> keys;
    std::string_view after;   // the name of the kind whose lines come before; empty for the first
    bool needs_data = false;  // a world of shapes only has no such keys
    Reads& reads;
    Explains& explains;
    IsAsked& is_asked;
    Runs& runs;
  };
  // OfTable is a kind with a table of its own, which is its name.
  struct OfTable {
    std::string_view table;
    std::string_view after;
    IsAsked& is_asked;
    Runs& runs;
  };

  explicit CheckKind(const OfKeys& definition);
  explicit CheckKind(const OfTable& definition);
  CheckKind(const CheckKind&) = delete;
  CheckKind& operator=(const CheckKind&) = delete;

  std::string_view name() const { return name_; }
  bool is_of_table() const { return keys_.empty(); }
  // keys returns the keys of [expect]; none for a kind with a table of its own, which reads and
  // explains nothing there.
  const std::vector<std::string_view>& keys() const { return keys_; }
  bool needs_data() const { return needs_data_; }
  void read(GateTable& table, const ExpectUse& use, GateExpect& expect) const {
    if (reads_) reads_(table, use, expect);
  }
  void explain(const GateExpect& expect, TomlTable& table) const {
    if (explains_) explains_(expect, table);
  }
  bool is_asked(const GateFile& gate) const { return is_asked_(gate); }
  void run(CheckedRun& run) const { runs_(run); }

  // all returns the kinds in the order of their lines: each after the one that it names.
  static const std::vector<const CheckKind*>& all();

 private:
  CheckKind(std::string_view name, std::string_view after, IsAsked& is_asked, Runs& runs);

  std::string_view name_, after_;
  std::vector<std::string_view> keys_;
  bool needs_data_ = false;
  Reads* reads_ = nullptr;        // null for a kind with a table of its own
  Explains* explains_ = nullptr;  // as reads_
  IsAsked& is_asked_;
  Runs& runs_;
  const CheckKind* next_;  // in the order of initialisation, which means nothing
};

}  // namespace simmesh
