#include "sharding/dtensor/dtensor.h"

namespace simmesh {

DTensor::DTensor(DTensorSpec spec, Tensor local, Tensor mask)
    : place_(std::make_shared<Place>(Place{std::move(spec)})),
      value_(std::make_shared<Value>(std::move(local))) {
  if (mask.is_defined()) mask_ = std::make_shared<const Tensor>(std::move(mask));
}

DTensor::DTensor(std::shared_ptr<Place> place, Tensor&& local, std::optional<Work>&& pending)
    : place_(std::move(place)),
      value_(std::make_shared<Value>(std::move(local), std::move(pending))) {}

DTensor DTensor::with_local(Tensor local, Tensor mask) const {
  DTensor result(place_, std::move(local), {});
  if (mask.is_defined()) result.mask_ = std::make_shared<const Tensor>(std::move(mask));
  return result;
}

bool DTensor::lies_like(const DTensor& other) const {
  if (place_ == other.place_) return true;
  const DTensorSpec& a = spec();
  const DTensorSpec& b = other.spec();
  return a.shape == b.shape && a.dtype == b.dtype && a.sharding == b.sharding &&
         (a.groups == b.groups || a.mesh() == b.mesh());
}

std::size_t DTensor::place_hash() const {
  if (place_->hash == 0) place_->hash = hash_of(spec()) | 1;
  return place_->hash;
}

const Tensor& DTensor::local() const {
  if (value_->pending) {
    value_->local = value_->pending->wait();
    value_->pending.reset();
  }
  return value_->local;
}

}  // namespace simmesh
