"""The project's files, as the tidy rules see them."""

import functools
import os
import re
import subprocess
from typing import NamedTuple

CPP = ('.h', '.cc')
# Comments, raw strings, strings, characters; a digit separator (1'000) is
# not the beginning of a character.
_NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'", re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]',
                      re.MULTILINE)


class Finding(NamedTuple):
    """One thing to mend: where, by which rule, and what to do instead."""
    path: str
    line: int
    rule: str
    message: str


def blank(text):
    """Spaces of the same shape: offsets and lines stay what they were."""
    return re.sub(r'[^\n]', ' ', text)


class SourceFile:
    """One file. `path` is relative to the top, with slashes."""

    def __init__(self, root, path):
        self.path = path
        self.bytes_count = os.path.getsize(os.path.join(root, path))
        with open(os.path.join(root, path), 'rb') as file:
            self._bytes = file.read()

    @functools.cached_property
    def text(self):
        return self._bytes.decode('utf-8', errors='replace')

    @functools.cached_property
    def code(self):
        """C++ without what is inside comments, strings and characters."""
        return _NOT_CODE.sub(lambda found: blank(found.group()), self.text)

    @functools.cached_property
    def includes(self):
        """(line, name) of each include."""
        return [(self.line_of(found.start(1)), found.group(1))
                for found in _INCLUDE.finditer(self.text)]

    @property
    def folder(self):
        """'hoplite/core' for all below it; else the first folder."""
        parts = self.path.split('/')[:-1]
        return '/'.join(parts[:2] if parts[:1] == ['hoplite'] else parts[:1])

    def line_of(self, offset):
        return self.text.count('\n', 0, offset) + 1


class SourceTree:
    """All files of the project: what git tracks, else all that is there."""

    def __init__(self, root):
        self.root = root
        self.files = {path: SourceFile(root, path)
                      for path in sorted(_tracked(root) or _walked(root))
                      if os.path.isfile(os.path.join(root, path))
                      and not os.path.islink(os.path.join(root, path))}

    def with_suffix(self, *suffixes):
        return [file for file in self.files.values()
                if file.path.endswith(suffixes)]

    def exists(self, path):
        return os.path.exists(os.path.join(self.root, path))


def _tracked(root):
    if not os.path.exists(os.path.join(root, '.git')):
        return []
    try:
        # The checkout may belong to another user than the test's.
        output = subprocess.run(
            ['git', '-c', 'safe.directory=*', 'ls-files', '-z'], cwd=root,
            check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return [path for path in output.decode().split('\0') if path]


def _walked(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders
                      if name not in ('.git', '__pycache__')]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root)
