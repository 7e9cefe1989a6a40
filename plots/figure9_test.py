"""Tests of figure9.py; those that draw need matplotlib."""

import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import figure9  # noqa: E402

_HEADER = ('model,hosts,transport,samples_per_s,min_samples_per_s,'
           'max_samples_per_s,most_samples_per_s,limit\n')
_ROWS = ('vgg16,16,plain,250,240,255,280,link\n'
         'alexnet,16,plain,600,590,610,634,link\n'
         'alexnet,16,hoplite,3600,3500,3700,4013,link\n'
         'alexnet,8,hoplite,1700,1650,1710,1873,link\n')
_HAS_MATPLOTLIB = importlib.util.find_spec('matplotlib') is not None


class Figure9Test(unittest.TestCase):

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def _file(self, text):
        path = os.path.join(self._folder.name, 'figure9.csv')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def _run(self, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            with contextlib.redirect_stderr(output):
                code = figure9.main(list(arguments))
        return code, output.getvalue()

    def test_panels_stand_by_hosts_and_models_in_the_papers_order(self):
        rows = figure9.read_rows(self._file(_HEADER + _ROWS))
        panels = figure9.panels(rows)
        self.assertEqual(list(panels), [8, 16])
        self.assertEqual(list(panels[16]), ['alexnet', 'vgg16'])
        self.assertEqual(panels[8]['alexnet']['hoplite']['samples_per_s'],
                         1700)

    def test_a_speed_up_needs_both_transports(self):
        panels = figure9.panels(
            figure9.read_rows(self._file(_HEADER + _ROWS)))
        self.assertEqual(figure9.speed_up(panels[16]['alexnet']), 6)
        self.assertIsNone(figure9.speed_up(panels[16]['vgg16']))

    def test_a_file_without_rows_is_an_error(self):
        code, output = self._run(self._file(_HEADER))
        self.assertEqual(code, 1)
        self.assertIn('has no rows', output)

    def test_without_a_file_it_says_how_it_is_used(self):
        code, output = self._run()
        self.assertEqual(code, 2)
        self.assertIn('Usage', output)

    @unittest.skipUnless(_HAS_MATPLOTLIB, 'matplotlib is not there')
    def test_the_same_file_gives_the_same_picture(self):
        path = self._file(_HEADER + _ROWS)
        pictures = []
        for name in ('one', 'two'):
            stem = os.path.join(self._folder.name, name)
            self.assertEqual(self._run(path, stem)[0], 0)
            self.assertGreater(os.path.getsize(f'{stem}.png'), 1000)
            with open(f'{stem}.svg', encoding='utf-8') as file:
                pictures.append(file.read())
        self.assertEqual(pictures[0], pictures[1])

    @unittest.skipIf(_HAS_MATPLOTLIB, 'matplotlib is there')
    def test_without_matplotlib_it_says_what_to_install(self):
        code, output = self._run(self._file(_HEADER + _ROWS))
        self.assertEqual(code, 1)
        self.assertIn('python3-matplotlib', output)


if __name__ == '__main__':
    unittest.main()
