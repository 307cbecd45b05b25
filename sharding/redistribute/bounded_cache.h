#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace simmesh {

// BoundedCache keeps the newest answers, each with its request. An answer is a function of its
// request alone, so a hit changes nothing but time. Entry has the request as its member `request`;
// requests are compared by ==.
template <class Entry>
class BoundedCache {
 public:
  explicit BoundedCache(std::size_t size_max) : size_max_(size_max) {}

  // find returns the entry of a request with that hash, null where there is none, and counts hits
  // and misses.
  template <class Request>
  std::shared_ptr<const Entry> find(const Request& request, std::size_t hash) {
    auto [begin, end] = by_hash_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      auto place = it->second;
      if (!(place->entry->request == request)) continue;
      ++hits_;
      if (place != entries_.begin()) entries_.splice(entries_.begin(), entries_, place);
      return place->entry;
    }
    ++misses_;
    return nullptr;
  }

  // keep adds an entry that find did not find; it drops the oldest where there are too many.
  void keep(std::shared_ptr<const Entry> entry, std::size_t hash) {
    entries_.push_front({hash, std::move(entry)});
    by_hash_.emplace(hash, entries_.begin());
    if (entries_.size() > size_max_) drop_oldest();
  }

  // entries returns all entries that are kept, the newest first.
  std::vector<std::shared_ptr<const Entry>> entries() const {
    std::vector<std::shared_ptr<const Entry>> result;
    for (const Place& place : entries_) result.push_back(place.entry);
    return result;
  }

  std::uint64_t hits() const { return hits_; }
  std::uint64_t misses() const { return misses_; }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Place {
    std::size_t hash;
    std::shared_ptr<const Entry> entry;
  };

  void drop_oldest() {
    auto oldest = std::prev(entries_.end());
    auto [first, last] = by_hash_.equal_range(oldest->hash);
    for (auto it = first; it != last; ++it) {
      if (it->second != oldest) continue;
      by_hash_.erase(it);
      break;
    }
    entries_.erase(oldest);
  }

  std::size_t size_max_;
  std::list<Place> entries_;  // newest first
  std::unordered_multimap<std::size_t, typename std::list<Place>::iterator> by_hash_;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace simmesh
