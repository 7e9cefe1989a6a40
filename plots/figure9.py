"""Draws Figure 9 from what //:reproduce has measured.

Usage: figure9.py FILE.csv [STEM], which writes STEM.svg and STEM.png; without
STEM, they stand beside the file. Nothing is measured or corrected here: the
same file gives the same picture.
"""

import csv
import os
import sys

_TITLES = {'alexnet': 'AlexNet', 'vgg16': 'VGG-16', 'resnet50': 'ResNet-50'}
_COLOURS = {'hoplite': '#2a6f97', 'plain': '#c9ada7'}
_LABELS = {'hoplite': 'Hoplite', 'plain': 'plain transport'}
_BAR_WIDTH = 0.38


def read_rows(path):
    """The file's rows as dictionaries, with numbers where numbers are."""
    with open(path, encoding='utf-8', newline='') as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row['hosts'] = int(row['hosts'])
        for name in ('samples_per_s', 'min_samples_per_s',
                     'max_samples_per_s', 'most_samples_per_s'):
            row[name] = float(row[name])
    return rows


def panels(rows):
    """{hosts: {model: {transport: row}}}, in the order in which to draw."""
    order = list(_TITLES)
    result = {}
    for row in sorted(rows, key=lambda row: (row['hosts'],
                                             order.index(row['model']))):
        models = result.setdefault(row['hosts'], {})
        models.setdefault(row['model'], {})[row['transport']] = row
    return result


def speed_up(transports):
    """Hoplite's throughput over the plain one's; None without both."""
    if len(transports) < 2:
        return None
    return (transports['hoplite']['samples_per_s']
            / transports['plain']['samples_per_s'])


def _top(row):
    return max(row['max_samples_per_s'], row['most_samples_per_s'])


def _draw_bar(axes, place, row):
    value = row['samples_per_s']
    transport = row['transport']
    axes.bar(place, value, _BAR_WIDTH, color=_COLOURS[transport],
             label=_LABELS[transport], zorder=2,
             yerr=[[value - row['min_samples_per_s']],
                   [row['max_samples_per_s'] - value]],
             error_kw={'elinewidth': 1, 'capsize': 2})
    axes.hlines(row['most_samples_per_s'], place - _BAR_WIDTH / 2,
                place + _BAR_WIDTH / 2, color='black', linewidth=1,
                linestyle='dotted', label='most that is possible', zorder=3)


def _draw_panel(axes, hosts, models):
    for place, transports in enumerate(models.values()):
        for transport, offset in (('hoplite', -0.5), ('plain', 0.5)):
            if transport in transports:
                _draw_bar(axes, place + offset * _BAR_WIDTH,
                          transports[transport])
        factor = speed_up(transports)
        if factor is not None:
            axes.annotate(f'{factor:.1f}x',
                          (place - 0.5 * _BAR_WIDTH,
                           _top(transports['hoplite'])),
                          xytext=(0, 3), textcoords='offset points',
                          ha='center')
    axes.set_xticks(range(len(models)), [_TITLES[name] for name in models])
    axes.set_title(f'{hosts} hosts')
    axes.grid(axis='y', color='#dddddd', zorder=0)
    axes.set_xlim(-0.6, len(models) - 0.4)


def draw(rows, stem):
    """Writes STEM.svg and STEM.png."""
    import matplotlib  # here, so that the rest is tested without it
    matplotlib.use('Agg')
    matplotlib.rcParams['svg.hashsalt'] = 'figure9'
    from matplotlib import pyplot

    by_hosts = panels(rows)
    figure, all_axes = pyplot.subplots(
        1, len(by_hosts), sharey=True, squeeze=False,
        width_ratios=[len(models) for models in by_hosts.values()],
        figsize=(1.5 + 3.5 * len(by_hosts), 3.6), layout='constrained')
    for axes, (hosts, models) in zip(all_axes[0], by_hosts.items()):
        _draw_panel(axes, hosts, models)
    all_axes[0][0].set_ylim(0, 1.1 * max(map(_top, rows)))
    handles, labels = all_axes[0][0].get_legend_handles_labels()
    unique = dict(zip(labels, handles))
    all_axes[0][0].legend(unique.values(), unique.keys(), fontsize='small')
    all_axes[0][0].set_ylabel('samples a second')
    figure.suptitle('Asynchronous SGD with a parameter server')
    figure.savefig(f'{stem}.svg', metadata={'Date': None})
    figure.savefig(f'{stem}.png', dpi=150)
    pyplot.close(figure)


def main(arguments):
    if len(arguments) not in (1, 2):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    stem = arguments[1] if len(arguments) == 2 else os.path.splitext(
        arguments[0])[0]
    rows = read_rows(arguments[0])
    if not rows:
        print(f'{arguments[0]} has no rows', file=sys.stderr)
        return 1
    try:
        draw(rows, stem)
    except ModuleNotFoundError as error:
        print(f'{error}: apt-get install python3-matplotlib, or run this '
              'with a Python that has it', file=sys.stderr)
        return 1
    print(f'{stem}.svg and {stem}.png')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
