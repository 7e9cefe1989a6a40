"""Plants one violation of each kind in a tree and sees it found."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import tidy  # pylint: disable=wrong-import-position

_HEADER = """// A thing.
//
// Thread safety: a value.

#ifndef HOPLITE_{0}_THING_H_
#define HOPLITE_{0}_THING_H_
{1}
#endif  // HOPLITE_{0}_THING_H_
"""
_BUILD = """
hoplite_cc_library(
    name = "thing",
    srcs = ["thing.cc"],
    hdrs = ["thing.h"],
    deps = [{}],
)
"""
_INCLUDE = '#include "hoplite/{}/thing.h"\n'


def _tree(layer='core', deps='', **more):
    """A clean tree with one target in hoplite/<layer>, and more files."""
    folder = f'hoplite/{layer}'
    files = {
        'WORKSPACE': '',
        f'{folder}/BUILD.bazel': _BUILD.format(deps),
        f'{folder}/thing.h': _HEADER.format(layer.upper(), ''),
        f'{folder}/thing.cc': _INCLUDE.format(layer),
    }
    return files | more.get('files', {})


def _source(code, layer='core', deps=''):
    path = f'hoplite/{layer}/thing.cc'
    return _tree(layer, deps,
                 files={path: _INCLUDE.format(layer) + code})


def _findings(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            path = os.path.join(root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)
        return tidy.findings(root)


class TidyTest(unittest.TestCase):

    def assert_found(self, rule, files):
        found = _findings(files)
        self.assertIn(rule, [finding.rule for finding in found], found)
        self.assertEqual({rule}, {finding.rule for finding in found}, found)
        for finding in found:
            self.assertGreater(len(finding.message), 20, finding)

    def assert_clean(self, files):
        self.assertEqual([], _findings(files))

    def test_a_clean_tree_has_no_findings(self):
        self.assert_clean(_tree())

    def test_core_includes_no_thread_lock_socket_or_clock(self):
        for name in ('thread', 'mutex', 'atomic', 'condition_variable',
                     'chrono', 'random', 'future', 'fstream', 'unistd.h',
                     'sys/socket.h', 'netinet/in.h', 'poll.h',
                     'absl/synchronization/notification.h',
                     'absl/random/random.h', 'absl/time/clock.h'):
            for layer in ('core', 'sim', 'base'):
                with self.subTest(name=name, layer=layer):
                    found = _findings(_source(f'#include <{name}>\n', layer))
                    self.assertIn('pure-include', [x.rule for x in found])

    def test_core_includes_no_library_that_acts(self):
        for name, dep in (('grpcpp/grpcpp.h', '@com_github_grpc_grpc//:grpc++'),
                          ('google/protobuf/message.h',
                           '@com_google_protobuf//:protobuf'),
                          ('eigen3/Eigen/Dense', '@eigen'),
                          ('asio.hpp', '@asio'),
                          ('openssl/sha.h', '@openssl//:crypto')):
            with self.subTest(name=name):
                self.assert_found('pure-include', _source(
                    f'#include <{name}>\n', deps=f'"{dep}"'))

    def test_core_includes_no_driver_and_no_lock_of_ours(self):
        for name in ('net/transport.h', 'store/object_store.h',
                     'runtime/clock.h', 'base/mutex.h'):
            with self.subTest(name=name):
                rules = {finding.rule for finding in _findings(
                    _source(f'#include "hoplite/{name}"\n'))}
                self.assertIn('pure-include', rules)

    def test_base_may_include_locks_in_mutex_only(self):
        files = {'hoplite/base/mutex_test.cc': '#include <thread>\n',
                 'hoplite/base/BUILD.bazel': _BUILD.format('')
                 + 'hoplite_cc_test(name = "mutex_test")\n'}
        self.assert_clean(_tree('base', files=files))
        self.assert_found('pure-include',
                          _source('#include <mutex>\n', 'base'))

    def test_layers_include_only_what_is_below(self):
        self.assert_found('layer', _source(
            '#include "hoplite/runtime/clock.h"\n', 'net'))
        self.assert_found('layer', _source(
            '#include "tests/integration/cluster.h"\n', 'api'))
        self.assert_clean(_source('#include "hoplite/base/id.h"\n', 'net'))

    def test_two_types_of_one_namespace_have_two_names(self):
        def tree(first, second):
            def inside(code, name='hoplite'):
                return (f'namespace {name} {{\nvoid F() {{\n}}\n{code}\n'
                        '}  // namespace\n')
            first = ''.join(map(inside, first))
            other = _tree('net')
            other['hoplite/net/thing.cc'] += ''.join(
                inside(code, name) for name, code in second)
            return _source(first) | other
        box = ['class Box {};']
        for second in ('struct Box : Base {};', 'enum class Box { kOne };',
                       'class Box final\n    : public Base {};',
                       'class ABSL_LOCKABLE Box {};'):
            with self.subTest(second=second):
                self.assert_found('type-name',
                                  tree(box, [('hoplite', second)]))
        for second in (('hoplite::other', 'class Box {};'), ('', box[0]),
                       ('hoplite', 'class Box;'),
                       ('hoplite', 'class Outer::Box {};')):
            with self.subTest(second=second):
                self.assert_clean(tree(box, [second]))

    def test_calls_that_have_one_place_or_none(self):
        for rule, line in (
                ('sleep', 'void F() { absl::SleepFor(absl::Seconds(1)); }'),
                ('sleep', 'void F() { std::this_thread::sleep_for(d); }'),
                ('sleep', 'void F() { usleep(1); }'),
                ('clock', 'auto now = absl::Now();'),
                ('clock', 'auto now = std::chrono::steady_clock::now();'),
                ('thread', 'std::thread worker;'),
                ('thread', 'std::jthread worker;'),
                ('new', 'int* p = new int(3);'),
                ('delete', 'void F(int* p) { delete p; }'),
                ('delete', 'void F(int* p) { delete[] p; }'),
                ('string-view', 'void F(std::string_view name);'),
                ('mutex', 'std::mutex mutex;'),
                ('mutex', 'absl::Mutex mutex;'),
                ('leftover', '// TO' 'DO: later'),
                ('leftover', '// FIX' 'ME')):
            with self.subTest(line=line):
                self.assert_found(rule, _source(line + '\n', 'kernels'))

    def test_calls_in_their_place_are_no_findings(self):
        for layer, line in (
                ('net', 'std::thread worker;'),
                ('testbed', 'auto now = absl::Now();'),
                ('core', 'void Renew(); Thing(const Thing&) = delete;'),
                ('wire', 'void F(Message m) { m.delete_(3); }'),
                ('core', '// A new text may say absl::Now() and delete it.'),
                ('core', 'const char* text = "sleep(1)";'),
                ('core', 'auto p = std::unique_ptr<Thing>(new Thing(3));'),
                ('core', 'std::unique_ptr<Thing> p(new Thing(3));'),
                ('base', 'auto n = std::thread::hardware_concurrency();')):
            with self.subTest(line=line):
                self.assert_clean(_source(line + '\n', layer))

    def test_only_tests_of_what_acts_read_the_clock(self):
        for layer in ('store', 'core'):
            files = _tree(layer, files={
                f'hoplite/{layer}/thing_test.cc':
                    _INCLUDE.format(layer) + 'auto now = absl::Now();\n',
                f'hoplite/{layer}/BUILD.bazel': _BUILD.format('')
                + 'hoplite_cc_test(name = "thing_test", deps = [":thing"])\n'
            })
            if layer == 'core':
                self.assert_found('clock', files)
            else:
                self.assert_clean(files)

    def test_a_reason_silences_a_finding_and_nothing_else_does(self):
        line = 'auto now = absl::Now();'
        allow = '  // tidy-allow(clock):'
        self.assert_clean(_source(f'{line}{allow} the banner\n'))
        self.assert_clean(_source(f'{allow} the banner\n{line}\n'))
        self.assert_found('clock', _source(f'{line}{allow}\n'))
        self.assert_found('clock', _source(f'{allow} the banner\n\n{line}\n'))

    def test_hash_containers_are_not_walked_in_core(self):
        member = '  absl::flat_hash_map<int, std::set<int>> asks_;\n'
        header = _HEADER.format('CORE', f'class Thing {{\n{member}}};')
        for code, is_found in (
                ('for (const auto& [id, ask] : asks_) Use(id);', True),
                ('for (auto& ask : this->asks_) Use(ask);', True),
                ('auto first = asks_.begin();', True),
                ('for (auto& ask : sorted_) Use(ask);', False),
                ('if (asks_.contains(3)) Use(asks_.find(3));', False)):
            with self.subTest(code=code):
                files = _source(f'void F() {{ {code} }}\n')
                files['hoplite/core/thing.h'] = header
                if is_found:
                    self.assert_found('unordered-iteration', files)
                else:
                    self.assert_clean(files)

    def test_functions_have_at_most_seventy_lines(self):
        for lines, is_found in ((68, False), (69, True)):
            for head in ('int F(int a) {', 'TEST(A, B) {',
                         'Thing::Thing() : a_{1}, b_{2} {',
                         'auto lambda = [](int a = {}) {'):
                with self.subTest(lines=lines, head=head):
                    files = _source(f'namespace x {{\n{head}\n'
                                    + '  if (a) { ++a; }\n' * lines
                                    + '}\n}\n')
                    if is_found:
                        self.assert_found('function-length', files)
                    else:
                        self.assert_clean(files)

    def test_long_tables_and_classes_are_not_functions(self):
        self.assert_clean(_source('const int kTable[] = {\n'
                                  + '  {F(1)},\n' * 100 + '};\n'))
        self.assert_clean(_source('class Long : public Base<int> {\n'
                                  + ' public:\n  int F() { return 1; }\n' * 50
                                  + '};\n'))

    def test_lines_have_at_most_eighty_columns(self):
        self.assert_found('line-length', _source('// ' + 'x' * 78 + '\n'))
        self.assert_clean(_source('// ' + 'é' * 77 + '\n'))
        self.assert_clean(_source('// https://' + 'x' * 78 + '\n'))

    def test_headers_say_their_thread_safety_and_have_their_guard(self):
        header = _HEADER.format('CORE', '')
        path = 'hoplite/core/thing.h'
        self.assert_found('thread-safety', _tree(
            files={path: header.replace('Thread safety', 'Threads')}))
        self.assert_found('include-guard', _tree(
            files={path: header.replace('_CORE_', '_')}))
        self.assert_found('include-guard', _tree(
            files={path: header.replace('#ifndef', '#ifdef')}))

    def test_a_source_includes_its_own_header_first(self):
        files = _tree('base', '"//hoplite/base:id"', files={
            'hoplite/base/thing.cc': '#include "hoplite/base/id.h"\n'
            + _INCLUDE.format('base')})
        self.assert_found('first-include', files)
        self.assert_found('first-include', _tree(
            files={'hoplite/core/thing.cc': ''}))

    def test_every_source_is_in_a_target_and_every_header_in_its_own(self):
        more = _HEADER.replace('THING', 'MORE').format('CORE', '')
        files = _tree(files={'hoplite/core/more.h': more})
        self.assert_found('no-target', files)
        build = files['hoplite/core/BUILD.bazel']
        files['hoplite/core/BUILD.bazel'] = build.replace(
            '["thing.h"]', 'glob(["*.h"])')
        self.assert_found('one-header', files)
        files['hoplite/core/BUILD.bazel'] = build + (
            'hoplite_cc_library(name = "more", hdrs = ["more.h"])\n')
        self.assert_clean(files)
        private = build.replace('"thing.cc"', '"thing.cc", "more.h"')
        files['hoplite/core/BUILD.bazel'] = private
        self.assert_clean(files)
        files['hoplite/core/BUILD.bazel'] = private + (
            'cc_test(name = "other", srcs = ["more.h"])\n')
        self.assert_found('no-target', files)
        for name in ('more.cc', 'more.proto', 'more.sh', 'more.py'):
            with self.subTest(name=name):
                self.assert_found('no-target', _tree(
                    files={f'hoplite/core/{name}': ''}))

    def test_direct_includes_are_direct_dependencies(self):
        absl = 'third_party/com_google_absl/absl/strings/BUILD.bazel'
        build = 'cc_library(name = "str_format")\n'
        code = '#include "absl/strings/{}.h"\n'
        label = '"@com_google_absl//absl/strings'
        for name, deps, is_found in (
                ('str_format', '', True),
                ('str_format', f'{label}"', True),
                ('str_format', f'{label}:str_format"', False),
                ('string_view', f'{label}"', False),
                ('string_view', '"@com_google_absl//absl/time"', True)):
            with self.subTest(name=name, deps=deps):
                files = _source(code.format(name), 'net', deps)
                files[absl] = build
                if is_found:
                    self.assert_found('missing-dep', files)
                else:
                    self.assert_clean(files)
        for name in ('asio.hpp', 'grpcpp/channel.h', 'gtest/gtest.h'):
            with self.subTest(name=name):
                self.assert_found('missing-dep', _source(
                    f'#include <{name}>\n', 'net'))
        self.assert_found('missing-dep', _source('', 'net') | {
            'hoplite/net/use.cc': '#include "hoplite/net/thing.h"\n',
            'hoplite/net/BUILD.bazel': _BUILD.format('')
            + 'hoplite_cc_binary(name = "use", srcs = ["use.cc"])\n'})

    def test_pages_have_one_title_and_links_that_lead_somewhere(self):
        for text, rule in (
                ('# One\n\n[here](hoplite/core/thing.h#L3) [x](#one)\n', None),
                ('# One\n\n```\n# a comment\n[x](y)\n```\n', None),
                ('# One\n\n[there](https://example.org/x)\n', None),
                ('no title\n', 'markdown-title'),
                ('# One\n\n# Two\n', 'markdown-title'),
                ('# One\n\n![gone](gone.svg)\n', 'markdown-link')):
            with self.subTest(text=text):
                files = _tree(files={'PAGE.md': text})
                if rule:
                    self.assert_found(rule, files)
                else:
                    self.assert_clean(files)

    def test_big_files_stay_out(self):
        self.assert_found('file-size', _tree(
            files={'plots/big.csv': '1,2,3,4\n' * 25_001}))


if __name__ == '__main__':
    unittest.main()
