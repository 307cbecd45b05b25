#pragma once

#include "core/ops/attributes.h"

namespace simmesh::attribute {

// The arguments that ops of several families have. An argument of one family is in its header.

inline constexpr Attribute<Number> alpha{"alpha"};                   // a factor, as beta is
inline constexpr Attribute<std::string> approximate{"approximate"};  // of gelu: "none" or "tanh"
inline constexpr Attribute<Number> beta{"beta"};
inline constexpr Attribute<std::int64_t> dim{"dim"};
inline constexpr Attribute<Dims> dims{"dims"};
inline constexpr Attribute<DType> dtype{"dtype"};  // of the result
inline constexpr Attribute<double> eps{"eps"};     // added to a variance
inline constexpr Attribute<std::int64_t> groups{"groups"};
inline constexpr Attribute<std::int64_t> index{"index"};
inline constexpr Attribute<Dims> input_sizes{"input_sizes"};  // the shape of the gradient
inline constexpr Attribute<std::int64_t> k{"k"};
inline constexpr Attribute<bool> keepdim{"keepdim"};
inline constexpr Attribute<Number> max{"max"};
inline constexpr Attribute<Number> min{"min"};
inline constexpr Attribute<double> scale{"scale"};
inline constexpr Attribute<Dims> size{"size"};  // the shape of the result
inline constexpr Attribute<std::int64_t> step{"step"};
inline constexpr Attribute<Number> threshold{"threshold"};
inline constexpr Attribute<Number> value{"value"};

}  // namespace simmesh::attribute
