"""Rules that keep the layers apart: includes, calls, order."""

import re

from source_tree import CPP, Finding

# What each layer may include of the others. Arrows point down only.
_BELOW = {'base': ()}
_BELOW['core'] = _BELOW['kernels'] = _BELOW['store'] = ('base',)
_BELOW['testbed'] = ('base',)
_BELOW['sim'] = _BELOW['wire'] = ('core', 'base')
# The data plane receives into the store's buffers and folds with kernels.
_BELOW['net'] = ('wire', 'store', 'kernels', 'core', 'base')
_BELOW['runtime'] = ('net',) + _BELOW['net']
_BELOW['api'] = ('runtime',) + _BELOW['runtime']
_BELOW['cli'] = ('api', 'testbed') + _BELOW['api']

_PURE_FOLDERS = ('hoplite/base', 'hoplite/core', 'hoplite/sim')
_IMPURE_PARTS_OF_BASE = re.compile(r'hoplite/base/(mutex|digest)[._]')
_IMPURE_INCLUDES = re.compile(
    r'(thread|mutex|shared_mutex|atomic|condition_variable|chrono|random|'
    r'future|stop_token|semaphore|latch|barrier|fstream|filesystem|ctime|'
    r'time\.h|pthread\.h|unistd\.h|poll\.h|fcntl\.h|netdb\.h|'
    r'(sys|netinet|arpa|linux|absl/synchronization|absl/random|grpc|grpcpp|'
    r'google/protobuf|Eigen|eigen3|asio|hwy|openssl|spdlog)/.*|'
    r'absl/time/clock\.h|asio\.hpp|isa-l\.h|'
    r'hoplite/(net|store|runtime|wire|kernels|testbed|api|cli)/.*)')
_PROGRAMS = re.compile(r'"?(apps|experiments|ray_integration|tests)/')


def check_pure_includes(tree):
    """core, sim and base include nothing that acts on the world."""
    for file in tree.with_suffix(*CPP):
        if (file.folder not in _PURE_FOLDERS
                or _IMPURE_PARTS_OF_BASE.match(file.path)):
            continue
        for line, name in file.includes:
            lock = name == 'hoplite/base/mutex.h' and file.folder != (
                'hoplite/base')
            if lock or _IMPURE_INCLUDES.fullmatch(name):
                yield Finding(file.path, line, 'pure-include',
                              f'{file.folder} may not include {name}: it '
                              'decides and never acts; take time, random '
                              'numbers and what happened as arguments, return '
                              'commands, and act in hoplite/runtime')


def check_arrows(tree):
    """A layer includes only layers below it."""
    for file in tree.with_suffix(*CPP):
        layer = file.folder.removeprefix('hoplite/')
        if not file.folder.startswith('hoplite/'):
            continue
        for line, name in file.includes:
            found = re.match(r'hoplite/(\w+)/', name)
            if _PROGRAMS.match(name) or (
                    found and found.group(1) != layer
                    and found.group(1) not in _BELOW.get(layer, _BELOW)):
                yield Finding(file.path, line, 'layer',
                              f'{file.folder} may not include {name}, which '
                              'is not below it: move what both need down, or '
                              'hand it in from above')


# rule, what is searched in the code, where it may stand, what to do instead.
_CALLS = (
    ('sleep',
     r'\b(?:SleepFor|sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(',
     r'^$',
     'nobody waits by sleeping: wait for the event itself with a CondVar, a '
     'future, poll() or a watermark'),
    ('clock',
     r'\babsl::Now\s*\(|\w+_clock::now\s*\(|\b(?:clock_gettime|gettimeofday)'
     r'\s*\(|\babsl::GetCurrentTimeNanos\b',
     r'hoplite/runtime/clock\.cc|hoplite/(testbed|cli)/|apps/|experiments/|'
     r'tests/|(?!hoplite/(base|core|sim)/).*_(test|testing|benchmark)\.cc',
     'take the time as an argument, or ask hoplite/runtime/clock.h'),
    ('thread',
     r'\bstd::j?thread\b(?!::)|\bstd::async\b|\bpthread_create\b',
     r'hoplite/(runtime|net|store|api|testbed|cli)/|tests/|apps/|'
     r'experiments/|ray_integration/|.*_(test|testing|benchmark)\.cc',
     'threads belong to runtime, net, store, api and the programs: let the '
     'caller bring the thread'),
    ('new',
     r'(?<!_ptr\()\bnew\s+[\w:(<]|\bnew\s*\(',
     r'^$',
     'use std::make_unique, std::make_shared, std::construct_at, or '
     'std::unique_ptr<T>(new T(...)) where the constructor is private'),
    ('delete',
     r'\bdelete\b\s*(?:\[\s*\])?\s*[\w:(*]',
     r'^$',
     'let a std::unique_ptr or a container own it'),
    ('string-view',
     r'\bstd::(?:w|u8|u16|u32)?string_view\b|#\s*include\s*<string_view>',
     r'^$',
     'use absl::string_view: in Debian\'s Abseil the two do not convert'),
    ('mutex',
     r'\bstd::(?:\w*_)?mutex\b|\babsl::(?:Mutex\w*|\w+MutexLock|CondVar)\b|'
     r'\bstd::condition_variable\w*\b|\bpthread_mutex_\w+',
     r'hoplite/base/mutex\.h',
     'lock with hoplite/base/mutex.h, which ThreadSanitizer and clang\'s '
     'analysis both see'),
)
_OWNED = re.compile(r'(?:_ptr\s*<[^;{}]*>\s*\w*\s*[({]|\bWrapUnique\()\s*$')


def check_calls(tree):
    """Calls that have one place, or none."""
    for rule, pattern, allowed, advice in _CALLS:
        for file in tree.with_suffix(*CPP):
            if re.match(allowed, file.path):
                continue
            for found in re.finditer(pattern, file.code):
                if rule == 'new' and _OWNED.search(
                        file.code[max(0, found.start() - 200):found.start()]):
                    continue
                yield Finding(file.path, file.line_of(found.start()), rule,
                              f'{found.group().strip()}: {advice}')


_UNORDERED = re.compile(
    r'\b(?:(?:flat|node)_hash|unordered)_(?:multi)?(?:map|set)\s*<')


def check_unordered_iteration(tree):
    """core and sim never walk a hash container: its order is random."""
    for file in tree.with_suffix(*CPP):
        if file.folder not in ('hoplite/core', 'hoplite/sim'):
            continue
        header = tree.files.get(re.sub(r'(_test)?\.cc$', '.h', file.path))
        names = _unordered_names(file.code)
        names |= _unordered_names(header.code if header else '')
        for found in re.finditer(
                r'\bfor\s*\([^;{}]*?[^:]:\s*(?:[\w.]+|->)*?\b(\w+)\s*\)|'
                r'\b(\w+)\s*(?:\.|->)\s*c?begin\s*\(', file.code):
            name = found.group(1) or found.group(2)
            if name in names:
                yield Finding(file.path, file.line_of(found.start()),
                              'unordered-iteration',
                              f'{name} has another order in each process: '
                              'use absl::btree_map, std::map or a sorted '
                              'vector where the order can reach a command')


def _unordered_names(code):
    names = set()
    for found in _UNORDERED.finditer(code):
        position, depth = found.end(), 1
        while depth and position < len(code):
            depth += {'<': 1, '>': -1}.get(code[position], 0)
            position += 1
        declared = re.compile(r'\s*[&*]?\s*(\w+)').match(code, position)
        if declared:
            names.add(declared.group(1))
    return names


RULES = (check_pure_includes, check_arrows, check_calls,
         check_unordered_iteration)
