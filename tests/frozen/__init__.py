"""What the package answers on real data, frozen: trees, distances, retrainings, commands, words.

Made before the package was taken apart and put together again, so that nothing is lost on the
way. Only what a user can reach is asked (``import steadytree``, the ``steadytree`` command and
the files it writes), and nothing that is stored names a module. ``python -m tests.frozen``
freezes again, on purpose.
"""
