"""The paper's experiments on public data, regenerated: ``python -m research.paper``.

From data to page, each step in a module or folder of its own:

- ``data`` (``case_studies``, ``time_ordered``, ``sources``): real tables, cleaned, leaks left out;
- ``protocols``, ``retraining_protocol``: which rows train, choose and are reported on;
- ``models``, ``retraining_methods``: the learners, grown by the library's own functions;
- ``experiments``: one piece of work each, planned by ``registry``, done by ``runs`` and kept by
  ``store`` under keys that follow the code (``provenance``), so that a run that is killed loses
  nothing and stale work is never taken for finished (``recheck`` does some of it again);
- ``observations``: every number of it in one long table; ``summaries``: the same as tables for
  people; ``findings``: the paper's claims judged by the long table and ``rules.toml``;
- ``content``: what ``results.json`` holds; ``figures``, ``overview``, ``page``, ``rendering`` and
  ``latex``: what people see, made from that file alone by ``views``. ``regenerate`` does it all.

It is not part of the installed package; ``make setup`` brings the data packages it reads.
"""
