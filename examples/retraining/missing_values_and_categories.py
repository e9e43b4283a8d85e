"""
Missing values and categories, as they come
===========================================

On the first days in intensive care some blood tests are done and others are
not, diagnoses are words, and the clinician asks what the tree does with a
patient whose bilirubin nobody measured. Does it still say the right risk?

The data are 9,105 seriously ill patients in five American hospitals, 1989 to
1994 (SUPPORT; Knaus and others 1995; ``support2`` of ``SurvSet``). The outcome
is death within 30 days. They carry no date: a fixed shuffle says who comes
first.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from SurvSet.data import SurvLoader

import steadytree as st

patients = SurvLoader().load_dataset(ds_name="support2")["df"]
patients = patients.sample(frac=1, random_state=0, ignore_index=True)
died = (patients["event"] == 1) & (patients["time"] <= 30)
outcome = died.map({True: "died", False: "alive"})
columns = {
    "num_age": "age",
    "num_scoma": "coma score",
    "num_meanbp": "blood pressure",
    "num_hrt": "heart rate",
    "num_resp": "breathing rate",
    "num_pafi": "PaO2/FiO2",
    "num_alb": "albumin",
    "num_bili": "bilirubin",
    "num_crea": "creatinine",
    "num_urine": "urine",
    "fac_dzgroup": "diagnosis",
    "fac_ca": "cancer",
}
X = patients[list(columns)].rename(columns=columns)
tests = ["PaO2/FiO2", "albumin", "bilirubin", "urine"]
print(X[tests].isna().mean().map("{:.0%} missing".format).to_string())

# %%
# The frame goes in as it is. Words are categories; a column may declare their
# order, and is then divided along it. Every split says where missing values
# go.

X["cancer"] = pd.Categorical(
    X["cancer"], ["no", "yes", "metastatic"], ordered=True
)
old, new, test = slice(0, 2000), slice(2000, 5000), slice(5000, None)
deployed = st.DistilledTreeClassifier(
    max_leaf_nodes=12,
    decision_threshold="prevalence",
    pos_label="died",
    random_state=0,
).fit(X[old], outcome[old])
print(st.as_tree(deployed))

# %%
# Three thousand patients arrive. The space says what columns can hold, and
# which can be missing: made from all rows, it covers what the first 2,000 did
# not show.

result = st.retrain(
    deployed,
    X[new],
    outcome[new],
    old=(X[old], outcome[old]),
    space=st.FeatureSpace.from_data(X, outcome),
    n_folds=3,
    search=st.SearchOptions(n_estimators=50),
    random_state=0,
)
print(result.explain())

# %%
# What changed, rule by rule.

result.diff

# %%
# The other 4,105 patients have trained no tree. For each test: how many of
# those with and without it died (with 95 % intervals), and what the retrained
# tree said: at most about two points too much, with a test or without.

risk = result.model.predict_proba(X[test])[:, 1]
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
names = []
for name in tests:
    for words, mask in (
        ("done", X[test][name].notna()),
        ("not done", X[test][name].isna()),
    ):
        place = len(names) + len(names) // 2 * 0.6
        names.append((place, f"{name}\n{words}"))
        rate = died[test][mask].mean()
        margin = 1.96 * np.sqrt(rate * (1 - rate) / mask.sum())
        ax.errorbar(
            place, 100 * rate, 100 * margin, fmt="o", color="black", capsize=3
        )
        diamonds = ax.scatter(
            place + 0.2, 100 * risk[mask].mean(), marker="D", color="#0072B2"
        )
ax.set_xticks(*zip(*names, strict=True), fontsize=8)
ax.set_ylim(bottom=0)
ax.set_ylabel("Death within 30 days (%)")
ax.legend(
    [ax.containers[0], diamonds],
    ["observed", "the retrained tree says"],
    loc="lower right",
)
plt.show()
