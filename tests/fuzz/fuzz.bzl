"""A fuzzer: one function over bytes, run by libFuzzer and over its corpus."""

load("//third_party/bazel:hoplite.bzl", "hoplite_cc_library", "hoplite_cc_test")

# Of libFuzzer. No length that the input claims may make anything allocate:
# one allocation above -malloc_limit_mb, or more memory than -rss_limit_mb, is
# a finding, as is an input that takes longer than -timeout, in seconds.
_FLAGS = [
    "-rss_limit_mb=2048",
    "-timeout=10",
    "-max_len=4096",
    "-use_value_profile=1",
]

def hoplite_cc_fuzzer(name, srcs, deps, malloc_limit_mb = 16):
    """NAME runs libFuzzer (--config=fuzz); NAME_test its corpus, anywhere.

    The sources define LLVMFuzzerTestOneInput; the corpus is corpus/NAME.
    """
    hoplite_cc_library(
        name = name + "_input",
        testonly = True,
        srcs = srcs,
        alwayslink = True,
        deps = deps,
    )
    native.filegroup(
        name = name + "_corpus",
        srcs = native.glob(["corpus/%s/*" % name]),
    )
    native.genrule(
        name = name + "_seeds",
        srcs = [":%s_corpus" % name],
        outs = [name + ".seeds"],
        cmd = "echo $(SRCS) | tr ' ' , | tr -d '\\n' > $@",
    )
    native.cc_binary(
        name = name,
        testonly = True,
        args = _FLAGS + [
            "-malloc_limit_mb=%d" % malloc_limit_mb,
            "-seed_inputs=@$(rootpath :%s_seeds)" % name,
        ],
        data = [
            ":%s_corpus" % name,
            ":%s_seeds" % name,
        ],
        linkopts = ["-fsanitize=fuzzer"],
        # Only --config=fuzz can link it.
        tags = ["manual"],
        deps = [":%s_input" % name],
    )
    hoplite_cc_test(
        name = name + "_test",
        srcs = [],
        data = [":%s_corpus" % name],
        env = {"HOPLITE_CORPUS": "%s/corpus/%s" % (native.package_name(), name)},
        deps = [
            ":%s_input" % name,
            "//tests/fuzz:corpus_test",
        ],
    )
