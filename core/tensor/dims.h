#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>

namespace simmesh {

// Dims is a short list of integers: sizes, strides, offsets or mesh dims. It is used like a
// std::vector. Up to six are kept in place, and such a list is copied and moved without a branch on
// its length, since every copy of a tensor copies two.
//
//   Dims shape = {8, 16};
//   shape.push_back(4);
class Dims {
 public:
  using value_type = std::int64_t;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = std::int64_t&;
  using const_reference = const std::int64_t&;
  using pointer = std::int64_t*;
  using const_pointer = const std::int64_t*;
  using iterator = std::int64_t*;
  using const_iterator = const std::int64_t*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  static constexpr std::size_t in_place_max = 6;

  Dims() noexcept = default;
  explicit Dims(std::size_t count, std::int64_t value = 0) { resize(count, value); }
  Dims(std::initializer_list<std::int64_t> values) : Dims(values.begin(), values.end()) {}
  template <std::input_iterator Iterator>
  Dims(Iterator first, Iterator last) {
    assign(first, last);
  }

  Dims(const Dims& other) : size_(other.size_), in_place_(other.in_place_) {
    if (other.long_) [[unlikely]]
      copy_long(other);
  }
  Dims(Dims&& other) noexcept
      : size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, std::uint32_t(in_place_max))),
        long_(std::move(other.long_)),
        in_place_(other.in_place_) {}
  Dims& operator=(const Dims& other) {
    if (this != &other) *this = Dims(other);
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, std::uint32_t(in_place_max));
    long_ = std::move(other.long_);
    in_place_ = other.in_place_;
    return *this;
  }
  Dims& operator=(std::initializer_list<std::int64_t> values) { return *this = Dims(values); }
  ~Dims() = default;

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::int64_t* data() noexcept { return long_ ? long_.get() : in_place_.data(); }
  const std::int64_t* data() const noexcept { return long_ ? long_.get() : in_place_.data(); }

  iterator begin() noexcept { return data(); }
  iterator end() noexcept { return data() + size_; }
  const_iterator begin() const noexcept { return data(); }
  const_iterator end() const noexcept { return data() + size_; }
  const_iterator cbegin() const noexcept { return begin(); }
  const_iterator cend() const noexcept { return end(); }
  reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }

  std::int64_t& operator[](std::size_t index) { return data()[index]; }
  const std::int64_t& operator[](std::size_t index) const { return data()[index]; }
  // at raises std::out_of_range for an index past the end.
  std::int64_t& at(std::size_t index) { return data()[checked(index)]; }
  const std::int64_t& at(std::size_t index) const { return data()[checked(index)]; }
  std::int64_t& front() { return data()[0]; }
  const std::int64_t& front() const { return data()[0]; }
  std::int64_t& back() { return data()[size_ - 1]; }
  const std::int64_t& back() const { return data()[size_ - 1]; }

  void clear() noexcept { size_ = 0; }
  void reserve(std::size_t count) {
    if (count > capacity_) [[unlikely]]
      grow(count);
  }
  void resize(std::size_t count, std::int64_t value = 0) {
    reserve(count);
    if (count > size_) std::fill(end(), data() + count, value);
    size_ = std::uint32_t(count);
  }
  void push_back(std::int64_t value) {
    reserve(std::size_t(size_) + 1);
    data()[size_++] = value;
  }
  std::int64_t& emplace_back(std::int64_t value = 0) {
    push_back(value);
    return back();
  }
  void pop_back() { --size_; }

  void assign(std::size_t count, std::int64_t value) {
    clear();
    resize(count, value);
  }
  template <std::input_iterator Iterator>
  void assign(Iterator first, Iterator last) {
    clear();
    if constexpr (std::forward_iterator<Iterator>) {
      auto count = std::size_t(std::distance(first, last));
      reserve(count);
      std::int64_t* to = data();
      for (; first != last; ++first) *to++ = static_cast<std::int64_t>(*first);
      size_ = std::uint32_t(count);
    } else {
      for (; first != last; ++first) push_back(static_cast<std::int64_t>(*first));
    }
  }

  // insert returns the place of the first new value; erase returns the place of the value after the
  // erased ones. The inserted values may be of the list itself.
  iterator insert(const_iterator at, std::int64_t value) { return insert(at, 1, value); }
  iterator insert(const_iterator at, std::size_t count, std::int64_t value) {
    iterator gap = open_gap(at, count);
    std::fill(gap, gap + count, value);
    return gap;
  }
  template <std::input_iterator Iterator>
  iterator insert(const_iterator at, Iterator first, Iterator last) {
    Dims values(first, last);
    iterator gap = open_gap(at, values.size());
    std::copy(values.begin(), values.end(), gap);
    return gap;
  }
  iterator insert(const_iterator at, std::initializer_list<std::int64_t> values) {
    return insert(at, values.begin(), values.end());
  }
  iterator erase(const_iterator at) { return erase(at, at + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    iterator to = begin() + (first - begin());
    std::copy(last, std::as_const(*this).end(), to);
    size_ -= std::uint32_t(last - first);
    return to;
  }

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.size_ != b.size_) return false;
    // A loop of its own: std::equal would call memcmp for two or three numbers.
    const std::int64_t* others = b.data();
    for (const std::int64_t* value = a.begin(); value != a.end(); ++value, ++others)
      if (*value != *others) return false;
    return true;
  }
  friend std::strong_ordering operator<=>(const Dims& a, const Dims& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::size_t checked(std::size_t index) const;
  void copy_long(const Dims& other);
  void grow(std::size_t count);
  iterator open_gap(const_iterator at, std::size_t count);

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = in_place_max;
  std::unique_ptr<std::int64_t[]> long_;  // null where the values are in place
  std::array<std::int64_t, in_place_max> in_place_{};
};

}  // namespace simmesh
