"""The rules of this project: one warning set, private by default."""

COPTS = [
    "-Wall",
    "-Wextra",
    "-Wcast-qual",
    "-Wmissing-declarations",
    "-Wnon-virtual-dtor",
    "-Wvla",
    # Designated initialisers name what differs from the defaults.
    "-Wno-missing-field-initializers",
]

def hoplite_cc_library(name, **kwargs):
    native.cc_library(
        name = name,
        copts = COPTS + kwargs.pop("copts", []),
        **kwargs
    )

def hoplite_cc_binary(name, **kwargs):
    native.cc_binary(
        name = name,
        copts = COPTS + kwargs.pop("copts", []),
        **kwargs
    )

def hoplite_cc_test(name, deps = [], **kwargs):
    """A GoogleTest test with GoogleTest's own main."""
    native.cc_test(
        name = name,
        srcs = kwargs.pop("srcs", [name + ".cc"]),
        copts = COPTS + kwargs.pop("copts", []),
        size = kwargs.pop("size", "small"),
        deps = deps + ["@com_google_googletest//:gtest_main"],
        **kwargs
    )

def hoplite_cc_benchmark(name, deps = [], **kwargs):
    """A google-benchmark program: run by hand, never by `bazel test`."""
    native.cc_binary(
        name = name,
        srcs = kwargs.pop("srcs", [name + ".cc"]),
        testonly = True,
        copts = COPTS + kwargs.pop("copts", []),
        tags = ["benchmark"],
        deps = deps + ["@com_google_benchmark//:benchmark_main"],
        **kwargs
    )
