"""How many requests the controllers and the scheduler of a cluster may send."""

from __future__ import annotations

import itertools
from typing import NamedTuple

Rate = tuple[int, int]  # requests a second, and at once: --kube-api-qps and --kube-api-burst


class Rates(NamedTuple):
    """What each controller of the manager may send, and what the scheduler may."""

    manager: Rate
    scheduler: Rate


# of upstream's programs, and what upstream's own tests of thousands of nodes give them
# (kubernetes/test-infra config/jobs/kubernetes/sig-scalability)
DEFAULT_RATES, RATES_OF_MANY = Rates((20, 30), (50, 100)), Rates((100, 100), (100, 100))
MANY_NODES = 1000


def rates(nodes: int) -> Rates:
    """Returns the rates of a cluster of that size."""
    return DEFAULT_RATES if nodes <= MANY_NODES else RATES_OF_MANY


def rate_flags(rate: Rate, default: Rate) -> list[str]:
    """Returns how a manifest says what is not the default."""
    flags = (f"--kube-api-burst={rate[1]}", f"--kube-api-qps={rate[0]}")
    differ = (rate[1] != default[1], rate[0] != default[0])
    return [*itertools.compress(flags, differ)]
