"""Rules on the BUILD files and what they name."""

import re

from build_files import read_targets
from source_tree import CPP, Finding

_WITH_TARGET = CPP + ('.proto', '.py', '.sh')
# Includes of the system's libraries, and the target that stands for each.
# (Bazel's layering_check sees only headers of our own.)
_LIBRARIES = (
    (r'asio[./].*', r'@asio//:asio'),
    (r'(grpc|grpcpp)/.*', r'@com_github_grpc_grpc//:grpc\+\+'),
    (r'google/protobuf/.*', r'@com_google_protobuf//:protobuf'),
    (r'(gtest|gmock)/.*', r'@com_google_googletest//:gtest(_main)?'),
    (r'benchmark/.*', r'@com_google_benchmark//:benchmark(_main)?'),
    (r'(eigen3/)?Eigen/.*', r'@eigen//:eigen'),
    (r'isa-l[./].*', r'@isa_l//:crc'),
    (r'openssl/.*', r'@openssl//:crypto'),
    (r'spdlog/.*', r'@spdlog//:spdlog'),
    (r'cxxopts\.hpp', r'@com_github_jarro2783_cxxopts//:cxxopts'),
    (r'nlohmann/.*', r'@com_github_nlohmann_json//:json'),
)
# Libraries that the macros add by themselves.
_ADDED = {
    'hoplite_cc_test': {'@com_google_googletest//:gtest_main'},
    'hoplite_cc_benchmark': {'@com_google_benchmark//:benchmark_main'},
}


def check_owners(tree):
    """Every source is in a target, every header in one of its own.

    A header that one target alone uses may stand in its srcs.
    """
    targets = read_targets(tree)
    owned = {path for target in targets for path in target.files}
    private = [path for target in targets for path in target.sources]
    exported = {path for target in targets for path in target.headers}
    for file in tree.with_suffix(*_WITH_TARGET):
        if file.path.startswith(('third_party/', '.')):
            continue
        if (file.path.endswith('.h') and file.path not in exported
                and private.count(file.path) != 1):
            yield Finding(file.path, 1, 'no-target',
                          'no target has this header in hdrs: give it a '
                          'hoplite_cc_library of its own in the BUILD file '
                          'beside it, or put it in srcs of the only one that '
                          'uses it')
        elif file.path not in owned:
            yield Finding(file.path, 1, 'no-target',
                          'no target names this file: add it to the BUILD '
                          'file beside it, or take it out')
    for target in targets:
        if target.rule == 'hoplite_cc_library' and len(target.headers) > 1:
            yield Finding(target.build_path, target.line, 'one-header',
                          f':{target.name} has {len(target.headers)} headers: '
                          'give each a target of its own')


def check_deps(tree):
    """What a target includes directly is among its own dependencies."""
    targets = read_targets(tree)
    exporters = {}
    for target in targets:
        for path in target.headers:
            exporters.setdefault(path, set()).add(target.label)
    for target in targets:
        if not target.rule.startswith('hoplite_cc_'):
            continue
        have = (target.deps | {target.label}
                | _ADDED.get(target.rule, set()))
        for path in dict.fromkeys(target.headers + target.sources):
            file = tree.files[path]
            for line, name in file.includes:
                if name in target.sources:
                    continue
                wanted = _wanted(tree, exporters, name)
                if wanted and not any(re.fullmatch(wanted, label)
                                      for label in have):
                    yield Finding(path, line, 'missing-dep',
                                  f'{target.label} includes {name}: add '
                                  f'{_readable(wanted)} to its deps')


def _wanted(tree, exporters, name):
    """A pattern of the labels that provide a header; None for the rest."""
    if name in exporters:
        return '|'.join(map(re.escape, sorted(exporters[name])))
    if found := re.fullmatch(r'absl/(.+)/(\w+)\.h', name):
        package, stem = found.groups()
        build = tree.files.get(
            f'third_party/com_google_absl/absl/{package}/BUILD.bazel')
        exact = build and f'name = "{stem}"' in build.text
        return re.escape(f'@com_google_absl//absl/{package}:') + (
            re.escape(stem) if exact else r'\w+')
    return next((label for pattern, label in _LIBRARIES
                 if re.fullmatch(pattern, name)), None)


def _readable(pattern):
    return re.sub(r'\\(?!w)', '', pattern.replace('(_main)?', '')).replace(
        r'\w+', '...')


RULES = (check_owners, check_deps)
