"""Rules on the text of one file at a time."""

import ast
import re

from source_tree import CPP, Finding, blank

FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 80
FILE_BYTES_MAX = 200_000
_WIDTH_CHECKED = CPP + ('.proto', '.py', '.sh', 'bazelw', '.ci/run')

_DIRECTIVE = re.compile(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.MULTILINE)
_ACCESS = re.compile(r'\b(?:public|private|protected)\s*:(?!:)')
_SCOPE = re.compile(
    r'\s*(?:template\s*<.*>\s*)?(?:inline\s+)?'
    r'(?:(?:namespace|class|struct|union|enum)\b|extern\s*$)', re.DOTALL)
# In the first column, as clang-format leaves it: the beginning or the end of
# a namespace, or a type's definition.
_NAMESPACE_OR_TYPE = re.compile(
    r'^(?:(?:inline )?namespace ?(?P<opened>[\w:]*) *\{|\}  // namespace|'
    r'(?:class|struct|union|enum(?: class)?)\s+'
    r'(?:[A-Z]+_[A-Z_]+(?:\([^)]*\))?\s+)?'
    r'(?P<type>\w+)(?: final)?(?:\s*:[^:;{][^;{]*)?\s*\{)', re.MULTILINE)


def check_widths(tree):
    """No line is wider than 80 columns, but for a URL."""
    for file in tree.with_suffix(*_WIDTH_CHECKED):
        for number, line in enumerate(file.text.split('\n'), 1):
            if len(line) > COLUMNS_MAX and '://' not in line:
                yield Finding(file.path, number, 'line-length',
                              f'{len(line)} columns: break the line at '
                              f'{COLUMNS_MAX}')


def check_functions(tree):
    """No function is longer than 70 lines."""
    spans = [(file, span) for file in tree.with_suffix(*CPP)
             for span in _cpp_functions(file)]
    spans += [(file, (node.lineno, node.end_lineno))
              for file in tree.with_suffix('.py')
              for node in ast.walk(ast.parse(file.text, file.path))
              if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for file, (first, last) in spans:
        if last - first + 1 > FUNCTION_LINES_MAX:
            yield Finding(file.path, first, 'function-length',
                          f'a function of {last - first + 1} lines: split it '
                          f'into parts of at most {FUNCTION_LINES_MAX}')


def _cpp_functions(file):
    """(first, last) line of each outermost body that follows parentheses."""
    code = _DIRECTIVE.sub(lambda found: blank(found.group()), file.code)
    code = _ACCESS.sub(lambda found: blank(found.group()), code)
    position = head_start = 0
    while found := re.compile('[{};]').search(code, position):
        position = found.end()
        head = code[head_start:found.start()]
        if found.group() != '{' or _SCOPE.match(head):
            head_start = position
            continue
        position = _matching_brace(code, found.start())
        # Braces in a default argument, or those of a member's initial value
        # before the constructor's body, end no function.
        if (head.count('(') > head.count(')')
                or re.compile(r'\s*[,{]').match(code, position)):
            continue
        if '(' in head:
            first = head_start + len(head) - len(head.lstrip())
            yield file.line_of(first), file.line_of(position - 1)
        head_start = position


def _matching_brace(code, start):
    depth = 0
    for found in re.compile('[{}]').finditer(code, start):
        depth += 1 if found.group() == '{' else -1
        if depth == 0:
            return found.end()
    return len(code)


def check_headers(tree):
    """A header states its thread safety and has the guard of its path."""
    for file in tree.with_suffix('.h'):
        if 'Thread safety:' not in file.text:
            yield Finding(file.path, 1, 'thread-safety',
                          'say in the opening comment who may call this from '
                          'where: "// Thread safety: ..."')
        stem = re.sub(r'[^A-Za-z0-9]', '_', file.path.removeprefix('hoplite/'))
        guard = f'HOPLITE_{stem.upper()}_'
        found = re.search(r'^#ifndef (\w+)\n#define (\w+)\n', file.text,
                          re.MULTILINE)
        if not found or set(found.groups()) != {guard}:
            yield Finding(file.path, 1, 'include-guard',
                          f'guard the header by {guard}')


def check_first_includes(tree):
    """A source includes its own header first: so that compiles alone."""
    for file in tree.with_suffix('.cc'):
        own = re.sub(r'(_test)?\.cc$', '.h', file.path)
        if own in tree.files and (
                not file.includes or file.includes[0][1] != own):
            yield Finding(file.path, file.includes[0][0] if file.includes
                          else 1, 'first-include',
                          f'include "{own}" first: the build then sees that '
                          'it compiles alone')


def check_type_names(tree):
    """No two types share a name in one namespace.

    The linker keeps one of two member functions of the same name, and calls
    it for objects of both.
    """
    places = {}
    for file in tree.with_suffix(*CPP):
        for name, line in _types(file):
            places.setdefault(name, []).append((file.path, line))
    for name, found in places.items():
        first = found[0][0]
        for path, line in found[1:]:
            yield Finding(path, line, 'type-name',
                          f'{name} is also in {first}: give one of the two '
                          'another name')


def _types(file):
    """(full name, line) of each type in a namespace that has a name."""
    names = []
    for found in _NAMESPACE_OR_TYPE.finditer(file.text):
        if found['opened'] is not None:
            names.append(found['opened'])
        elif found['type'] is None:
            names = names[:-1]
        elif '' not in names:
            yield ('::'.join([*names, found['type']]),
                   file.line_of(found.start('type')))


def check_leftovers(tree):
    """Nothing is left for later in the text."""
    leftover = re.compile(r'\b(TO' r'DO|FIX' r'ME)\b')
    for file in tree.files.values():
        for found in leftover.finditer(file.text):
            yield Finding(file.path, file.line_of(found.start()), 'leftover',
                          f'{found.group()}: do it now, or open an issue and '
                          'take the note out')


def check_sizes(tree):
    """No big files, which a clone would carry for ever."""
    for file in tree.files.values():
        if file.bytes_count > FILE_BYTES_MAX:
            yield Finding(file.path, 1, 'file-size',
                          f'{file.bytes_count} bytes: generate it, or keep '
                          f'it below {FILE_BYTES_MAX}')


def check_markdown(tree):
    """A page has one title, and its relative links lead somewhere."""
    for file in tree.with_suffix('.md'):
        fences = re.compile(r'^ *(```|~~~).*?^ *\1|`[^`\n]*`',
                            re.MULTILINE | re.DOTALL)
        text = fences.sub(lambda found: blank(found.group()), file.text)
        titles = [file.line_of(found.start())
                  for found in re.finditer(r'^# ', text, re.MULTILINE)]
        if len(titles) != 1:
            yield Finding(file.path, titles[1] if titles else 1,
                          'markdown-title', f'{len(titles)} titles: a page '
                          'has one line that begins with "# "')
        folder = file.path.rpartition('/')[0]
        for found in re.finditer(r'\]\(([^)\s]+)', text):
            link = found.group(1).split('#')[0]
            if link and ':' not in link and not tree.exists(
                    link[1:] if link.startswith('/') else f'{folder}/{link}'
                    if folder else link):
                yield Finding(file.path, file.line_of(found.start()),
                              'markdown-link', f'nothing is at {link}: '
                              'mend the path, which starts at this page')


RULES = (check_widths, check_functions, check_headers, check_first_includes,
         check_type_names, check_leftovers, check_sizes, check_markdown)
