"""The targets of the BUILD files, read as the Python that they nearly are.

Lists, sums of lists, names of lists and glob() are understood; of anything
else (a comprehension, a select) every string counts.
"""

import ast
import fnmatch
import posixpath
from typing import NamedTuple

_SOURCES_BY_NAME = ('hoplite_cc_test', 'hoplite_cc_benchmark')


class Target(NamedTuple):
    """One rule: labels are in full, files are paths from the top."""
    build_path: str
    line: int
    rule: str
    name: str
    sources: list
    headers: list
    deps: set
    files: set

    @property
    def label(self):
        return f'//{posixpath.dirname(self.build_path)}:{self.name}'


def read_targets(tree):
    """Every target of the tree; third_party's own are the system's."""
    targets = []
    for file in tree.with_suffix('BUILD.bazel', 'BUILD'):
        if not file.path.startswith('third_party/com_'):
            targets += _Package(tree, file).targets()
    return targets


def full_label(label, package):
    """':x' and '//a/x' and '@x' as '//package:x', '//a/x:x', '@x//:x'."""
    if label.startswith('@') and '//' not in label:
        return f'{label}//:{label[1:]}'
    if '//' not in label:
        return f'//{package}:{label.removeprefix(":")}'
    if ':' in label:
        return label
    return f'{label}:{label.rsplit("/", 1)[-1]}'


class _Package:

    def __init__(self, tree, file):
        self._tree = tree
        self._file = file
        self._package = posixpath.dirname(file.path)
        self._module = ast.parse(file.text, file.path)
        self._values = {
            name.id: statement.value
            for statement in self._module.body
            if isinstance(statement, ast.Assign)
            for name in statement.targets if isinstance(name, ast.Name)}

    def targets(self):
        return [self._target(node, keywords)
                for node in ast.walk(self._module)
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id not in ('package', 'package_group')
                for keywords in [{word.arg: word.value
                                  for word in node.keywords}]
                if 'name' in keywords]

    def _target(self, node, keywords):
        rule = node.func.id
        name = ''.join(self._strings(keywords['name']))
        sources = self._files(keywords.get('srcs'))
        if 'srcs' not in keywords and rule in _SOURCES_BY_NAME:
            sources = self._paths(f'{name}.cc')
        deps = {full_label(label, self._package)
                for label in self._strings(keywords.get('deps'))}
        files = {path for value in keywords.values()
                 for path in self._files(value)}
        return Target(self._file.path, node.lineno, rule, name, sources,
                      self._files(keywords.get('hdrs')), deps,
                      files.union(sources))

    def _strings(self, value):
        if value is None:
            return []
        strings = []
        for node in ast.walk(value):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                strings.append(node.value)
            elif isinstance(node, ast.Name) and node.id in self._values:
                strings += self._strings(self._values[node.id])
        return strings

    def _files(self, value):
        return [path for text in self._strings(value)
                for path in self._paths(text)]

    def _paths(self, text):
        """The files that a label, a name or a glob's pattern stands for."""
        if text.startswith('//'):
            text = text.removeprefix('//').replace(':', '/').lstrip('/')
        else:
            text = posixpath.join(self._package, text.removeprefix(':'))
        if '*' in text:
            return fnmatch.filter(self._tree.files, text)
        return [text] if text in self._tree.files else []
