"""Checks the rules of CONTRIBUTING.md over the files of one checkout.

Usage: tidy.py PATH, where PATH is the WORKSPACE file at its top, or a link
to it. Prints one line for each finding, and fails where there is one.

A finding of a rule in _MAY_BE_ALLOWED is silenced by a comment on its line
or the line above, with the reason: tidy-allow(rule): reason
"""

import os
import re
import sys

import layer_rules
import style_rules
import target_rules
from source_tree import SourceTree

_RULES = style_rules.RULES + layer_rules.RULES + target_rules.RULES
_MAY_BE_ALLOWED = ('clock', 'delete', 'function-length', 'mutex', 'new',
                   'sleep', 'thread', 'unordered-iteration')


def findings(root):
    """All that is to be mended in the tree at `root`, in order."""
    tree = SourceTree(root)
    return sorted(finding for rule in _RULES for finding in rule(tree)
                  if not _is_allowed(tree.files[finding.path], finding))


def _is_allowed(file, finding):
    lines = file.text.split('\n')[max(0, finding.line - 2):finding.line]
    return finding.rule in _MAY_BE_ALLOWED and any(
        re.search(rf'tidy-allow\({finding.rule}\): \S', line)
        for line in lines)


def main():
    root = os.path.dirname(os.path.realpath(sys.argv[1]))
    found = findings(root)
    for path, line, rule, message in found:
        print(f'{path}:{line}: [{rule}] {message}')
    print(f'{len(found)} to mend')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
