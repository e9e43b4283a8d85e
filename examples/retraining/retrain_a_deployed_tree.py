"""
Deploy, let data arrive, see what changed
=========================================

A clinic reads one decision tree aloud at its tumour conference. A year later
there are twice as many patients, the same method is run again, and the tree on
the wall is another one. The doctors ask what was wrong with the old one.
Nothing was.

The data are the breast cancer measurements that ship with scikit-learn (569
patients of the University of Wisconsin). They carry no date: the first half
stands for the patients seen first. ``make demo`` runs this example.
"""

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.plotting import TreeComparisonDisplay

X, benign = load_breast_cancer(return_X_y=True, as_frame=True)
y = benign.map({0: "malignant", 1: "benign"})
half = len(X) // 2
space = st.FeatureSpace.from_data(X, y)

# %%
# A missed malignant tumour is worse than a needless biopsy: malignant is
# called from a risk of 20 % on. Such a policy belongs to the tree, and a
# retrained tree inherits it.

policy = st.Decision(0.2, positive="malignant")

# %%
# What happens today
# ------------------
# A tree is trained on the first half of the patients, and later, by the same
# method, on all.

cart = DecisionTreeClassifier(
    max_leaf_nodes=6, min_samples_leaf=5, random_state=0
)
before, after = (
    st.as_tree(cart.fit(X[:rows], y[:rows]), policy) for rows in (half, len(X))
)
matching = st.match_paths(before, after, space=space)
print("1. What happens today\n")
print(f"A tree is trained on the first {half} of {len(X)} patients:\n")
print(before)
print("\nData arrive, the same method is run on all, and the rules become:\n")
print(after)
print(f"\nThe paper's distance is {matching.distance:.2f}; the trees are")
print(f"{matching.relative:.0%} dissimilar (0 % = the same rules).")

# %%
# Rules that correspond have the same colour and number. Nearly every condition
# is another one.

figure, axes = plt.subplots(2, 1, figsize=(7.4, 6), layout="constrained")
shown = TreeComparisonDisplay.from_trees(
    before,
    after,
    space=space,
    titles=("CART, first half", "CART, all patients"),
    ax=axes,
)

# %%
# The same with steadytree
# ------------------------
# A tree is distilled from a forest on the first half and deployed. When the
# other patients arrive, it is retrained, and pays for every change.

learner = st.DistilledTreeClassifier(
    max_leaf_nodes=6,
    max_depth=4,
    decision_threshold=policy,
    random_state=0,
)
deployed = learner.fit(X[:half], y[:half])
result = st.retrain(
    deployed,
    X[half:],
    y[half:],
    old=(X[:half], y[:half]),
    space=space,
    random_state=0,
)
print("\n2. The same with steadytree\n")
print(f"The answer, when {len(X) - half} more patients have come:\n")
print(result.explain())

# %%
# The tree before and after, and what changed. Counts are exact, here and in
# the report: for whoever has the rows. ``result.report(path, publish=True)``
# writes what others may see.

print(f"\nThe tree of the first {half} patients:\n")
print(st.as_tree(deployed))
print("\nThe proposed tree:\n")
print(result.tree)
print()
print(result.diff.to_text())

# %%
# The decision report
# -------------------
# One page, for people who do not program. The trees are saved beside it.

out = Path("demo-output")
out.mkdir(exist_ok=True)
st.save_tree(st.as_tree(deployed), out / "deployed.json")
st.save_tree(result.tree, out / "proposed.json")
page = result.report(out / "report.html")
print("\n3. The decision report\n")
print(f"Trees: {out / 'deployed.json'}, {out / 'proposed.json'}")
print(f"Open this in a browser: {page.resolve()}")

# %%
# The tree on the wall stays, with two thresholds moved and risks that all
# patients speak for.

figure, axes = plt.subplots(2, 1, figsize=(7.4, 6), layout="constrained")
shown = TreeComparisonDisplay.from_retraining(result, ax=axes)
