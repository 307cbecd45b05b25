#include "sharding/dtensor.h"

namespace simmesh {

DTensor::DTensor(DTensorSpec spec, Tensor local, Tensor mask)
    : place_(std::make_shared<Place>(Place{std::move(spec)})),
      value_(std::make_shared<Value>(std::move(local))) {
  if (mask.is_defined()) mask_ = std::make_shared<const Tensor>(std::move(mask));
}

DTensor::DTensor(std::shared_ptr<Place> place, Tensor&& local, std::optional<Work>&& pending)
    : place_(std::move(place)),
      value_(std::make_shared<Value>(std::move(local), std::move(pending))) {}

const Tensor& DTensor::local() const {
  if (value_->pending) {
    value_->local = value_->pending->wait();
    value_->pending.reset();
  }
  return value_->local;
}

}  // namespace simmesh
