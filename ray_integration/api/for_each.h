// HOPLITE_FOR_EACH(macro, a, b, c) is macro(a) macro(b) macro(c).
//
// The preprocessor does not recurse; it is made to look again at what it has
// made, often enough for 80 arguments.
//
// Thread safety: nothing is left of it at run time.

#ifndef HOPLITE_RAY_INTEGRATION_API_FOR_EACH_H_
#define HOPLITE_RAY_INTEGRATION_API_FOR_EACH_H_

#define HOPLITE_FOR_EACH(macro, ...) \
  __VA_OPT__(HOPLITE_EXPAND(HOPLITE_FOR_EACH_STEP(macro, __VA_ARGS__)))
// The same with commas between.
#define HOPLITE_FOR_EACH_LISTED(macro, ...) \
  __VA_OPT__(HOPLITE_EXPAND(HOPLITE_LISTED_STEP(macro, __VA_ARGS__)))

#define HOPLITE_FOR_EACH_STEP(macro, first, ...) \
  macro(first) __VA_OPT__(                       \
      HOPLITE_FOR_EACH_AGAIN HOPLITE_PARENTHESES(macro, __VA_ARGS__))
#define HOPLITE_FOR_EACH_AGAIN() HOPLITE_FOR_EACH_STEP
#define HOPLITE_LISTED_STEP(macro, first, ...) \
  macro(first) __VA_OPT__(                     \
      , HOPLITE_LISTED_AGAIN HOPLITE_PARENTHESES(macro, __VA_ARGS__))
#define HOPLITE_LISTED_AGAIN() HOPLITE_LISTED_STEP
#define HOPLITE_PARENTHESES ()

#define HOPLITE_EXPAND(...) \
  HOPLITE_EXPAND_27(HOPLITE_EXPAND_27(HOPLITE_EXPAND_27(__VA_ARGS__)))
#define HOPLITE_EXPAND_27(...) \
  HOPLITE_EXPAND_9(HOPLITE_EXPAND_9(HOPLITE_EXPAND_9(__VA_ARGS__)))
#define HOPLITE_EXPAND_9(...) \
  HOPLITE_EXPAND_3(HOPLITE_EXPAND_3(HOPLITE_EXPAND_3(__VA_ARGS__)))
#define HOPLITE_EXPAND_3(...) \
  HOPLITE_EXPAND_1(HOPLITE_EXPAND_1(HOPLITE_EXPAND_1(__VA_ARGS__)))
#define HOPLITE_EXPAND_1(...) __VA_ARGS__

#endif  // HOPLITE_RAY_INTEGRATION_API_FOR_EACH_H_
