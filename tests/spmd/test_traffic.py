"""What ranks send is what doc/distributed.md says: bytes by its formula, rounds by its formula, whatever the number of nodes."""

import math

import numpy as np
import pytest
from helpers.ranks import Cut, fit_by_ranks, sizes
from sklearn.base import clone

import dforest
from dforest.engines.forest_driver import ForestDriver
from dforest.engines.ranks import shipping
from dforest.engines.ranks.engine import ALL
from dforest.spmd import binning

N_COLUMNS = 10


class Counted:
    """What the formulas need to know of a fit, over all batches; and what the bins took."""

    def __init__(self, monkeypatch):
        self.n_large = self.n_levels = self.n_shipped = self.n_shipments = self.n_batches = 0
        self.bin_rounds, self.bin_bytes = 0, []
        evaluate, grow, code = ForestDriver.evaluate, shipping.Shipping.grow, binning.code_columns_together

        def noted_level(driver, nodes, parents):
            if driver.shard.ranks.rank == 0:
                self.n_large += len(nodes)
                self.n_levels += 1
            return evaluate(driver, nodes, parents)

        def noted_grow(of_rank, places, *others):
            ranks = of_rank._ranks
            if ranks.rank == 0:
                self.n_batches += 1
                self.n_shipped += int(places["n"].sum())
                _, shipment = shipping.assign_owners(places["n"], ranks.size, of_rank._shipment_records)
                self.n_shipments += int(shipment.max(initial=-1)) + 1
            return grow(of_rank, places, *others)

        def noted_code(ranks, *arguments, **named):
            rounds, sent = ranks.traffic.n_rounds, ranks.traffic.bytes_sent
            columns = code(ranks, *arguments, **named)
            if ranks.rank == 0:
                self.bin_rounds = ranks.traffic.n_rounds - rounds
            self.bin_bytes.append(ranks.traffic.bytes_sent - sent)
            return columns

        monkeypatch.setattr(ForestDriver, "evaluate", noted_level)
        monkeypatch.setattr(shipping.Shipping, "grow", noted_grow)
        monkeypatch.setattr("dforest.estimators.data.rows.code_columns_together", noted_code)


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize(
    "chosen", [{"n_trees": 4}, {"n_trees": 2, "ship_up_to": 300, "shipment_records": 700}, {"ship_up_to": ALL}]
)
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_bytes_and_rounds(monkeypatch, size, chosen, kind):
    rng = np.random.default_rng(size)
    X = rng.standard_normal((4000, N_COLUMNS)).astype(np.float32)
    y = X[:, 0] + rng.standard_normal(len(X))
    model = getattr(dforest, f"RandomForest{kind}")(4, max_features=3, random_state=0, max_bins=64)
    if kind == "Classifier":
        y = (y > 0).astype(int)
    counted = Counted(monkeypatch)
    with sizes(**chosen):
        forests = fit_by_ranks(clone(model), X, y, None, Cut.random(rng, len(y), size, "even"), size)
    reports = [forest.fit_report_ for forest in forests]
    n_nodes = len(forests[0].forest_.feature)
    is_classes = kind == "Classifier"
    n_words, n_kept, packed_bytes = (4, 3, N_COLUMNS + 8) if is_classes else (3, 4, N_COLUMNS + 16)
    to_others = (size - 1) / size
    expected = np.mean(counted.bin_bytes) + to_others * (
        counted.n_large * 3 * (8 * 64 * n_words + 56) + n_nodes * (13 + 4 * n_kept) + counted.n_shipped * packed_bytes / size
    )
    assert math.isclose(np.mean([report.bytes_sent for report in reports]), expected, rel_tol=0.03)
    if is_classes:  # in regression nodes may need new scales, at any level
        n_batches = counted.n_batches
        rounds = 14 + counted.bin_rounds + 1 + 12 * n_batches + counted.n_shipments + 4 * counted.n_levels
        assert {report.n_rounds for report in reports} == {rounds}
