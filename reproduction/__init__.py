"""The paper's experiments on public data, regenerated: ``python -m reproduction``.

From data to page, each step in a module or folder of its own:

- ``data`` (``case_studies``, ``time_ordered``, ``sources``): real tables, cleaned, leaks left out;
- ``protocols``, ``retraining_protocol``: which rows train, choose and are reported on;
- ``models``, ``retraining_methods``: the learners, grown by the library's own functions;
- ``experiments``: one piece of work each, planned by ``registry``, done by ``runs`` and kept by
  ``store``, so that a run that is killed loses nothing;
- ``summaries``: finished work as tables; ``observations``: all of it as one long table;
  ``findings``: the paper's claims judged by it, by the rules of ``rules.toml``;
- ``content``: what ``results.json`` holds; ``figures``, ``overview``, ``page``, ``rendering`` and
  ``latex``: what people see, made from that file alone by ``views``. ``regenerate`` does it all.

It is not part of the installed package; ``make setup`` brings the data packages it reads.
"""
