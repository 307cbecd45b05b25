#pragma once

#include <cstdint>
#include <map>
#include <nanobind/nanobind.h>
#include <unordered_set>
#include <vector>

namespace simmesh::python {

// OwnContents swaps what containers of Python hold when the turn passes from one rank to another.
// The containers stay the same objects, so every reference to one sees the contents of the rank
// that has the turn. A container that no rank changes is only looked at.
//
// Containers are modules, classes, dicts, lists, sets, deques, cells of closures and caches of
// functools.lru_cache. Contents are compared by the identity of their items. The calls need the
// GIL.
class OwnContents {
 public:
  // The rank whose contents are loaded outside of ranks.
  static constexpr int host = -1;

  // add watches a container, which has its present contents on all ranks. Returns false for one
  // that is watched already, and for objects of other kinds.
  bool add(const nanobind::object& container);

  // begin makes the present contents of all containers those of the host and of every rank.
  void begin();

  // keep notes what changed since the last look, for the rank whose contents are loaded.
  void keep();

  // switch_to keeps what changed since the last look for the rank whose contents are loaded, and
  // loads those of another one.
  void switch_to(int rank);

  // adopt lets all ranks have what changed since the last look, as an import changes it. A key that
  // a rank set itself stays its own.
  void adopt();

  // has_changed tells if a container differs from the last look.
  bool has_changed() const;

  // size returns the number of containers.
  std::size_t size() const { return entries_.size(); }

  // own_count returns the number of containers whose contents a rank has for itself.
  std::size_t own_count(int rank) const;

 private:
  enum class Kind { mapping, type, ordered, list, set, deque, cell, cache };
  using Objects = std::vector<nanobind::object>;

  // The items of a container; for a mapping the keys and values that differ from the base's, a
  // value that is null where the key is gone, or all of them.
  struct Contents {
    bool is_whole = false;
    Objects items;
  };

  struct Entry {
    Kind kind;
    nanobind::object owner;
    PyObject* watched;            // the dict of names, or the owner
    std::size_t place = 0;        // where it stands among the numbered ones of its kind
    Objects seen;                 // the items at the last look where there is no version
    nanobind::object base_names;  // a mapping's keys and values of the base
    Objects base;                 // the items of the base
  };

  using Own = std::map<std::size_t, Contents>;

  // A container with a number that differs after every change: a dict with its version, or a cell
  // with the address of its value. Looks read these one after the other, which takes a few
  // nanoseconds each, so they are kept apart from the places of their entries.
  struct Number {
    PyObject* object;
    std::uint64_t seen;
  };
  struct Numbered {
    std::vector<Number> numbers;
    std::vector<std::size_t> entries;
  };

  static bool has_versions(Kind kind);
  static bool has_other_items(const Entry& entry);
  static Objects items_of(const Entry& entry);
  static Contents read(const Entry& entry);
  static void set_base(Entry& entry);
  static void set_name(const Entry& entry, PyObject* key, PyObject* value);
  static void write_names(const Entry& entry, const Contents& from, const Contents& to);
  static void write_items(const Entry& entry, const Objects& items);

  Numbered* numbered_of(Kind kind);
  void look(std::size_t index);
  std::vector<std::size_t> changed() const;
  void write(std::size_t index, const Contents* from, const Contents* to);
  void adopt_names(Entry& entry, std::size_t index);
  void adopt_items(Entry& entry, std::size_t index);

  std::vector<Entry> entries_;
  Numbered dicts_;
  Numbered cells_;
  std::vector<std::size_t> others_;
  std::unordered_set<PyObject*> known_;
  std::map<int, Own> own_;
  int current_ = host;
};

}  // namespace simmesh::python
