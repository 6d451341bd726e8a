"""`manage.py demo`: from the command line to a running cluster and back.

Options and preparation come before the server's imports. A user's mistake is reported in one
sentence with exit code 1, before anything is written or started.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from lifecycle.hosting import options, preparation


def main(arguments: Sequence[str]) -> int:
    """Runs until a signal and returns the exit code."""
    gc.disable()  # until what is imported is frozen
    try:
        prepared = preparation.prepare(options.parse(arguments))
    except (options.OptionError, preparation.StartError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    from lifecycle.hosting import serving  # imports the server, and thereby the reactor

    code = serving.run(prepared)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # a thread that still waits for a client must not keep the process
