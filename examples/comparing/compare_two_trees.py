"""
May the new tree go live?
=========================

A colleague sends the tree that is to replace the one in use. The person
responsible has set limits before: at most 10 % dissimilar, at most 5 % of the
decisions changed, no loss of more than a point of AUC. Nothing is trained
here; two finished trees are compared.

The data are the breast cancer measurements that ship with scikit-learn (569
patients of the University of Wisconsin). Neither tree was trained on the last
third, on which they are compared.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.plotting import TreeComparisonDisplay

X, benign = load_breast_cancer(return_X_y=True, as_frame=True)
y = benign.map({0: "malignant", 1: "benign"})
half, seen = len(X) // 2, 2 * len(X) // 3

# %%
# The trees may come from anywhere that ``as_tree`` reads. These are
# scikit-learn's, trained on the first half and on two thirds of the patients.

cart = DecisionTreeClassifier(
    max_leaf_nodes=5, min_samples_leaf=5, random_state=0
)
old, new = (st.as_tree(cart.fit(X[:n], y[:n])) for n in (half, seen))

# %%
# The space says how far each measurement ranges, so that a moved threshold has
# a size.

space = st.FeatureSpace.from_data(X[:seen], y[:seen])
comparison = st.compare(
    old, new, X[seen:], y[seen:], space=space, trained_on="neither"
)
comparison

# %%
# A plan, made before anybody saw the new tree. The same check is a gate on the
# command line (``steadytree compare --plan max_flips=0.05``).

check = comparison.check(
    {"max_dissimilarity": 0.10, "max_flips": 0.05, "min_score_change": -0.05}
)
print(check.to_text())
print("\nThe new tree may go live." if check else "\nKeep the deployed tree.")

# %%
# Why: the two trees, with rules that correspond in the same colour.

figure, axes = plt.subplots(2, 1, figsize=(7.4, 5), layout="constrained")
shown = TreeComparisonDisplay.from_trees(
    old, new, space=space, titles=("In use", "Proposed"), ax=axes
)
plt.show()
