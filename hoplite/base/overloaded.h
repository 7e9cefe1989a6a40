// Overloaded{f, g, …} is one visitor made of several lambdas.
//
// Used with std::visit: an alternative without an overload does not compile.
//
// Thread safety: as its lambdas.

#ifndef HOPLITE_BASE_OVERLOADED_H_
#define HOPLITE_BASE_OVERLOADED_H_

namespace hoplite {

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace hoplite

#endif  // HOPLITE_BASE_OVERLOADED_H_
