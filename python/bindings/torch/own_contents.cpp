#include "python/bindings/torch/own_contents.h"

#include <algorithm>
#include <utility>

#include "python/bindings/torch/cache_layout.h"
#include "python/bindings/torch/held_items.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

nb::object shared(PyObject* object) { return nb::borrow<nb::object>(object); }

void check(bool ok) {
  if (!ok) throw nb::python_error();
}

bool is_instance_of(nb::handle object, const char* module, const char* name) {
  return nb::isinstance(object, nb::module_::import_(module).attr(name));
}

#if PY_VERSION_HEX < 0x030C0000
std::uint64_t version_of(PyObject* dict) {
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}
constexpr bool dicts_have_versions = true;
#else
// Later versions of Python give the number up, so contents are compared.
std::uint64_t version_of(PyObject*) { return 0; }
constexpr bool dicts_have_versions = false;
#endif

// Appends keys and values of a dict.
void append_names(std::vector<nb::object>& items, PyObject* dict) {
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value)) {
    items.push_back(shared(key));
    items.push_back(shared(value));
  }
}

nb::object ordered_dict() { return nb::module_::import_("collections").attr("OrderedDict"); }

// Asks for the version of a dict before it is read.
void fetch_version(PyObject* dict) {
  __builtin_prefetch(&reinterpret_cast<PyDictObject*>(dict)->ma_used);
}

std::uint64_t number_of_value(PyObject* cell) {
  return reinterpret_cast<std::uintptr_t>(PyCell_GET(cell));
}

// The distance between the container that is looked at and the one whose memory is asked for.
constexpr std::size_t ahead = 16;

bool begins_with(const std::vector<nb::object>& items, const std::vector<nb::object>& begin) {
  return items.size() >= begin.size() &&
         std::equal(begin.begin(), begin.end(), items.begin(),
                    [](const nb::object& one, const nb::object& other) { return one.is(other); });
}

}  // namespace

bool OwnContents::has_versions(Kind kind) {
  bool is_dict =
      kind == Kind::mapping || kind == Kind::type || kind == Kind::cache || kind == Kind::ordered;
  return is_dict && dicts_have_versions;
}

bool OwnContents::add(const nb::object& container) {
  PyObject* object = container.ptr();
  Entry entry{.kind = Kind::mapping, .owner = container, .watched = object};
  if (PyModule_Check(object)) {
    entry.watched = PyModule_GetDict(object);
  } else if (PyType_Check(object)) {
    entry.kind = Kind::type;
    entry.watched = reinterpret_cast<PyTypeObject*>(object)->tp_dict;
  } else if (PyODict_Check(object)) {
    entry.kind = Kind::ordered;
  } else if (PyList_Check(object)) {
    entry.kind = Kind::list;
  } else if (PySet_Check(object)) {
    entry.kind = Kind::set;
  } else if (PyCell_Check(object)) {
    entry.kind = Kind::cell;
  } else if (is_instance_of(container, "collections", "deque")) {
    entry.kind = Kind::deque;
  } else if (is_instance_of(container, "functools", "_lru_cache_wrapper")) {
    PyObject* cache = CacheLayout::cache_of(object);
    if (cache == nullptr) return false;
    if (CacheLayout::is_bounded(object))
      entry.kind = Kind::cache;
    else
      entry.owner = shared(cache);
    entry.watched = cache;
  } else if (!PyDict_Check(object)) {
    return false;
  }
  if (entry.watched == nullptr || !known_.insert(entry.watched).second) return false;
  set_base(entry);
  if (Numbered* numbered = numbered_of(entry.kind)) {
    entry.place = numbered->numbers.size();
    numbered->numbers.push_back({entry.watched, 0});
    numbered->entries.push_back(entries_.size());
  } else {
    others_.push_back(entries_.size());
  }
  entries_.push_back(std::move(entry));
  look(entries_.size() - 1);
  return true;
}

void OwnContents::begin() {
  for (std::size_t index : changed()) {
    set_base(entries_[index]);
    look(index);
  }
  std::map<int, Own> ended = std::exchange(own_, {});
  current_ = host;
}

OwnContents::Numbered* OwnContents::numbered_of(Kind kind) {
  if (has_versions(kind)) return &dicts_;
  return kind == Kind::cell ? &cells_ : nullptr;
}

bool OwnContents::has_other_items(const Entry& entry) {
  switch (entry.kind) {
    case Kind::list: return !list_holds(entry.watched, entry.seen);
    case Kind::set: return !set_holds(entry.watched, entry.seen);
    case Kind::mapping:
    case Kind::type: return !dict_holds(entry.watched, entry.seen);
    default: return !are_identical(items_of(entry), entry.seen);
  }
}

OwnContents::Objects OwnContents::items_of(const Entry& entry) {
  Objects items;
  if (entry.kind == Kind::cell) {
    if (PyObject* value = PyCell_GET(entry.watched)) items.push_back(shared(value));
  } else if (entry.kind == Kind::cache) {
    items = CacheLayout::entries_of(entry.owner.ptr());
  } else if (entry.kind == Kind::mapping || entry.kind == Kind::type) {
    append_names(items, entry.watched);
  } else if (entry.kind == Kind::ordered) {
    // Subclasses may make values when they are asked for items.
    for (nb::handle pair : ordered_dict().attr("items")(entry.owner)) {
      items.push_back(pair[0]);
      items.push_back(pair[1]);
    }
  } else {
    for (nb::handle item : entry.owner) items.push_back(nb::borrow<nb::object>(item));
  }
  return items;
}

OwnContents::Contents OwnContents::read(const Entry& entry) {
  if (entry.kind != Kind::mapping && entry.kind != Kind::type) return {true, items_of(entry)};
  Contents contents;
  PyObject* base = entry.base_names.ptr();
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0, kept = 0;
  while (PyDict_Next(entry.watched, &position, &key, &value)) {
    PyObject* before = PyDict_GetItemWithError(base, key);
    kept += before != nullptr ? 1 : 0;
    if (before == value) continue;
    contents.items.push_back(shared(key));
    contents.items.push_back(shared(value));
  }
  if (kept == PyDict_GET_SIZE(base)) return contents;
  // The order of a dict that lost names can't be made from its base; nobody needs that of others.
  if (entry.kind == Kind::mapping && entry.owner.ptr() == entry.watched) {
    return {true, items_of(entry)};
  }
  position = 0;
  while (PyDict_Next(base, &position, &key, &value)) {
    if (PyDict_Contains(entry.watched, key) != 0) continue;
    contents.items.push_back(shared(key));
    contents.items.emplace_back();
  }
  return contents;
}

void OwnContents::look(std::size_t index) {
  Entry& entry = entries_[index];
  bool has_version = has_versions(entry.kind);
  if (has_version) dicts_.numbers[entry.place].seen = version_of(entry.watched);
  if (entry.kind == Kind::cell) cells_.numbers[entry.place].seen = number_of_value(entry.watched);
  // A value that is kept can't leave its address to another one.
  if (!has_version) Objects before = std::exchange(entry.seen, items_of(entry));
}

void OwnContents::set_base(Entry& entry) {
  if (entry.kind == Kind::mapping || entry.kind == Kind::type) {
    entry.base_names = nb::steal(PyDict_Copy(entry.watched));
  } else {
    Objects before = std::exchange(entry.base, items_of(entry));
  }
}

std::vector<std::size_t> OwnContents::changed() const {
  std::vector<std::size_t> found;
  const std::vector<Number>& dicts = dicts_.numbers;
  for (std::size_t place = 0; place < dicts.size(); ++place) {
    if (place + ahead < dicts.size()) fetch_version(dicts[place + ahead].object);
    if (version_of(dicts[place].object) != dicts[place].seen) {
      found.push_back(dicts_.entries[place]);
    }
  }
  const std::vector<Number>& cells = cells_.numbers;
  for (std::size_t place = 0; place < cells.size(); ++place) {
    if (place + ahead < cells.size()) __builtin_prefetch(cells[place + ahead].object);
    if (number_of_value(cells[place].object) != cells[place].seen) {
      found.push_back(cells_.entries[place]);
    }
  }
  for (std::size_t index : others_) {
    if (has_other_items(entries_[index])) found.push_back(index);
  }
  return found;
}

bool OwnContents::has_changed() const { return !changed().empty(); }

std::size_t OwnContents::own_count(int rank) const {
  auto found = own_.find(rank);
  return found == own_.end() ? 0 : found->second.size();
}

void OwnContents::keep() {
  Own& own = own_[current_];
  for (std::size_t index : changed()) {
    Entry& entry = entries_[index];
    Contents contents = read(entry);
    look(index);
    bool is_base = contents.is_whole ? entry.base_names.ptr() == nullptr &&
                                           are_identical(contents.items, entry.base)
                                     : contents.items.empty();
    Contents before;
    if (is_base) {
      if (auto found = own.find(index); found != own.end()) {
        before = std::move(found->second);
        own.erase(found);
      }
    } else {
      before = std::exchange(own[index], std::move(contents));
    }
  }
}

void OwnContents::switch_to(int rank) {
  if (rank == current_) return;
  keep();
  const Own& from = own_[current_];
  const Own& to = own_[rank];
  current_ = rank;
  auto left = from.begin();
  auto right = to.begin();
  while (left != from.end() || right != to.end()) {
    bool takes_left = right == to.end() || (left != from.end() && left->first <= right->first);
    bool takes_right = left == from.end() || (right != to.end() && right->first <= left->first);
    std::size_t index = takes_left ? left->first : right->first;
    write(index, takes_left ? &left->second : nullptr, takes_right ? &right->second : nullptr);
    if (takes_left) ++left;
    if (takes_right) ++right;
  }
}

void OwnContents::write(std::size_t index, const Contents* from, const Contents* to) {
  Entry& entry = entries_[index];
  static const Contents base;
  if (entry.kind == Kind::mapping || entry.kind == Kind::type) {
    write_names(entry, from != nullptr ? *from : base, to != nullptr ? *to : base);
  } else {
    write_items(entry, to != nullptr ? to->items : entry.base);
  }
  look(index);
}

void OwnContents::set_name(const Entry& entry, PyObject* key, PyObject* value) {
  if (entry.kind == Kind::type) {
    check(PyType_Type.tp_setattro(entry.owner.ptr(), key, value) == 0);
  } else if (value != nullptr) {
    check(PyDict_SetItem(entry.watched, key, value) == 0);
  } else if (PyDict_DelItem(entry.watched, key) != 0) {
    PyErr_Clear();
  }
}

void OwnContents::write_names(const Entry& entry, const Contents& from, const Contents& to) {
  PyObject* base = entry.base_names.ptr();
  if (from.is_whole || to.is_whole) {
    nb::object before = nb::steal(PyDict_Copy(entry.watched));
    PyDict_Clear(entry.watched);
    if (!to.is_whole) check(PyDict_Update(entry.watched, base) == 0);
  } else {
    for (std::size_t at = 0; at < from.items.size(); at += 2) {
      PyObject* key = from.items[at].ptr();
      bool follows = std::any_of(to.items.begin(), to.items.end(),
                                 [&](const nb::object& each) { return each.ptr() == key; });
      PyObject* value = PyDict_GetItemWithError(base, key);
      // A value that `to` replaces is written once. A name that isn't in the base is removed, so
      // that the order is that of `to`.
      if (value == nullptr || !follows) set_name(entry, key, value);
    }
  }
  for (std::size_t at = 0; at < to.items.size(); at += 2) {
    set_name(entry, to.items[at].ptr(), to.items[at + 1].ptr());
  }
}

void OwnContents::write_items(const Entry& entry, const Objects& items) {
  PyObject* object = entry.owner.ptr();
  Objects before = items_of(entry);
  if (entry.kind == Kind::cell) {
    check(PyCell_Set(object, items.empty() ? nullptr : items[0].ptr()) == 0);
  } else if (entry.kind == Kind::cache) {
    CacheLayout::set_entries(object, items);
  } else if (entry.kind == Kind::list) {
    nb::list list;
    for (const nb::object& item : items) list.append(item);
    check(PyList_SetSlice(object, 0, Py_SIZE(object), list.ptr()) == 0);
  } else if (entry.kind == Kind::set) {
    check(PySet_Clear(object) == 0);
    for (const nb::object& item : items) check(PySet_Add(object, item.ptr()) == 0);
  } else if (entry.kind == Kind::deque) {
    entry.owner.attr("clear")();
    for (const nb::object& item : items) entry.owner.attr("append")(item);
  } else {
    nb::object kind = ordered_dict();
    kind.attr("clear")(entry.owner);
    for (std::size_t at = 0; at < items.size(); at += 2) {
      kind.attr("__setitem__")(entry.owner, items[at], items[at + 1]);
    }
  }
}

void OwnContents::adopt() {
  for (std::size_t index : changed()) {
    Entry& entry = entries_[index];
    if (entry.kind == Kind::mapping || entry.kind == Kind::type)
      adopt_names(entry, index);
    else
      adopt_items(entry, index);
    look(index);
  }
}

void OwnContents::adopt_names(Entry& entry, std::size_t index) {
  Contents now = read(entry);
  Own& own = own_[current_];
  auto found = own.find(index);
  if (now.is_whole || (found != own.end() && found->second.is_whole)) {
    own[index] = std::move(now);
    return;
  }
  Contents mine;
  PyObject* base = entry.base_names.ptr();
  for (std::size_t at = 0; at < now.items.size(); at += 2) {
    bool is_mine = false;
    if (found != own.end()) {
      const Objects& items = found->second.items;
      for (std::size_t k = 0; k < items.size() && !is_mine; k += 2) {
        is_mine = items[k].is(now.items[at]) && items[k + 1].is(now.items[at + 1]);
      }
    }
    if (is_mine) {
      mine.items.push_back(now.items[at]);
      mine.items.push_back(now.items[at + 1]);
    } else if (now.items[at + 1].is_valid()) {
      check(PyDict_SetItem(base, now.items[at].ptr(), now.items[at + 1].ptr()) == 0);
    } else {
      check(PyDict_DelItem(base, now.items[at].ptr()) == 0);
    }
  }
  own.erase(index);
  if (!mine.items.empty()) own[index] = std::move(mine);
}

void OwnContents::adopt_items(Entry& entry, std::size_t index) {
  Objects now = items_of(entry);
  Own& own = own_[current_];
  auto found = own.find(index);
  bool has_own = found != own.end();
  const Objects& before = has_own ? found->second.items : entry.base;
  Objects added;
  if (entry.kind == Kind::set) {
    for (const nb::object& item : now) {
      bool was_there = std::any_of(before.begin(), before.end(),
                                   [&](const nb::object& each) { return each.is(item); });
      if (!was_there) added.push_back(item);
    }
  } else if (entry.kind != Kind::cache && begins_with(now, before)) {
    added.assign(now.begin() + static_cast<std::ptrdiff_t>(before.size()), now.end());
  }
  for (auto& [rank, contents] : own_) {
    auto other = contents.find(index);
    if (rank == current_ || other == contents.end()) continue;
    Objects& items = other->second.items;
    items.insert(items.end(), added.begin(), added.end());
  }
  if (has_own) {
    entry.base.insert(entry.base.end(), added.begin(), added.end());
    found->second.items = std::move(now);
  } else {
    entry.base = std::move(now);
  }
}

}  // namespace simmesh::python
