"""No program of a container holds the cluster, or takes more of the machine than its share.

A third of what might is drawn each day; the long suite tries all.
"""

from __future__ import annotations

import gc
import time

import pytest

from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.task import Task
from lifecycle.hosting.scripted import Session
from tests.controllers_app.nodelab import execute, run
from tests.controllers_app.podlab import cluster, create, get, pod
from tests.suite import seeds

SECONDS = 10  # of virtual time that a program is given
# CPU time is counted in turns of an empty loop, so that the machine does not matter
TURNS = 1_000_000
HELD_TURNS_MAX = 12 * TURNS  # that one step of the kernel may take
SHARE_TURNS_MAX = 16 * TURNS  # that a second of a container's may take


def turn_seconds() -> float:
    """How long one turn takes here and now."""

    def measured() -> float:
        began = time.thread_time()
        for _ in range(TURNS):
            pass
        return time.thread_time() - began

    return min(measured() for _ in range(3)) / TURNS


class Watch:
    """How long the kernel's steps take."""

    def __init__(self, kernel: Kernel) -> None:
        self.longest = self.whole = 0.0
        self.began = kernel.now
        self._kernel = kernel
        self.run_step = kernel.run_step

    def __enter__(self) -> Watch:
        def step(task: Task) -> None:
            before = time.thread_time()
            self.run_step(task)
            took = time.thread_time() - before
            self.whole += took
            self.longest = max(self.longest, took)

        gc.disable()
        self._kernel.run_step = step  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        gc.enable()
        self._kernel.run_step = self.run_step  # type: ignore[method-assign]


def ran(session: Session, script: str, seconds: float = SECONDS) -> tuple[Watch, str]:
    """Run it for so long; how the kernel got on, and what the script wrote."""
    crashes: list[BaseException] = []
    kernel = session.cluster.kernel
    before, kernel.on_crash = kernel.on_crash, lambda task, error: crashes.append(error)
    out = b""

    async def go() -> None:
        nonlocal out
        process = await session.cluster.nodes.exec(
            get(session), "c", ["sh", "-c", script], stdin=False, tty=False
        )

        async def read() -> None:
            nonlocal out
            while (part := await process.read()) is not None:
                out = (out + part[1])[-4096:]

        reading = kernel.spawn("read", read())
        await kernel.sleep(seconds)
        process.hang_up()
        await kernel.sleep(1)
        kernel.cancel(reading)

    try:
        with Watch(kernel) as watch:
            run(session, go())
    finally:
        kernel.on_crash = before
    assert crashes == []
    return watch, out.decode("utf-8", "surrogateescape")


A44 = "a" * 44 + "!"
BIG = "x=aaaaaaaa; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do x=$x$x; done; "
ENDLESS = {
    "an alternation that backtracks": f"echo {A44} | grep -E '(a|aa)*b'; echo $?",
    "the same in sed": f"echo {A44} | sed -E 's/(a|aa)*b/x/'",
    "the same in awk": f"echo {A44} | awk '/(a|aa)*b/'; awk 'BEGIN {{sub(/(a|aa)*b/, \"\")}}'",
    "a long repetition": "echo $(yes a | head -8000 | tr -d '\\n') | grep -E '((a?){20}){10}b'",
    "a pattern of files": "case $(yes a | head -9000 | tr -d '\\n') in "
    "*a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?b) ;; esac",
    "an end that is cut off": BIG + "while true; do y=${x%%*a*b}; done",
    "many brackets": BIG.replace("aaaaaaaa", "'[[[[[[[['") + "while true; do echo $x; done",
    "very many semicolons": "x=';;;;;;;;'; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do x=$x$x; "
    'done; while true; do echo a | sed "$x"; done',
    "sed over a large file": "seq 1 100000 > /tmp/x; while true; do "
    "sed -e 's/1/2/g;s/2/3/g;s/3/4/g' /tmp/x > /tmp/y; done",
    "sed of one long line": BIG + "while true; do echo $x | sed 's/a/b/g;s/b/c/g'; done",
    "awk of one long text": 'awk \'BEGIN {x = "aaaa"; while (length(x) < 100000) x = x x; '
    'while (1) {y = x; gsub(/a/, "b", y)}}\'',
    "awk of one long expression": "awk \"BEGIN {while (1) x = $(yes '1+' | head -2000 | "
    "tr -d '\\n') 1}\"",
    "awk that formats": "awk 'BEGIN {while (1) x = sprintf(\"%9999d%9999d%9999d\", 1, 2, 3)}'",
    "awk with a format of its own": 'awk \'BEGIN {CONVFMT = "%1000000000d"; x = 1.5; x = x ""}\'',
    "sorting": "seq 1 90000 > /tmp/s; while true; do sort -rn /tmp/s > /dev/null; done",
    "counting": "seq 1 90000 > /tmp/s; while true; do cat -n /tmp/s | cut -c3- | tr 1 2 | "
    "uniq -c | wc; done",
    "packing": "dd if=/dev/urandom of=/tmp/r bs=1M count=3; while true; do gzip -9 -k -c /tmp/r | "
    "gunzip | sha512sum; done",
    "tar": "mkdir /tmp/t; cd /tmp/t; for i in $(seq 900); do echo > $i; done; while true; do "
    "tar c . | tar t; ls -l; find .; done",
    "differences": "seq 1 5000 > /tmp/1; seq 2 3 9000 > /tmp/2; while true; do "
    "diff /tmp/1 /tmp/2; done",
    "base64": "dd if=/dev/urandom of=/tmp/r bs=1M count=3; while true; do base64 /tmp/r | "
    "base64 -d | wc -c; done",
    "yes": "yes > /dev/null",
    "a long sequence": "seq 1 1000000000 > /dev/null",
    "a sequence that is read": "seq 1 999999999 | while read x; do :; done",
    "much of nothing": "head -c 10000000000 /dev/zero; dd if=/dev/zero of=/dev/null bs=1G count=10",
    "a wide number": "while true; do printf '%1000000000d%999d' 1 1; done",
    "sleeping for nothing": "while true; do sleep 0; done",
    "sleeping for a moment": "while true; do sleep 0.000001; done",
    "nothing at all": "while :; do :; done",
    "a text that doubles": "x=a; while true; do x=$x$x; done",
    "a text that is replaced": BIG + "y=$x; while true; do z=${x//a/$y}; done",
    "a word of many": BIG + f"echo {'$x' * 500}",
    "words of many": BIG + "while true; do set -- " + "$x " * 500 + "; done",
    "separators": BIG + "IFS=$x; while true; do set -- $x$x; done",
    "arithmetic in arithmetic": "x='1'; for i in $(seq 100); do x='$(( '$x' ))'; done; "
    'eval "echo $x"; echo $((' + "9" * 5000 + "))",
    "files of files": "cd /; while true; do echo /*/* /*/*/* /*/*/*/*; done",
    "a function in itself": "f() { f; }; f; g() { $(g); }; g",
    "a program in itself": "x='eval \"$x\"'; eval \"$x\"; echo 'sh /tmp/e' > /tmp/e; sh /tmp/e",
    "a deep program": "f() { " + "{ " * 20 + "f; " + "} ;" * 20 + "}; f",
    "a fork bomb": "f() { f | f & }; f; g() { g & g & g & g; }; g; wait",
    "many jobs": "while true; do true & done",
    "a large program": BIG.replace("aaaaaaaa", "'x=1; y=2'") + 'while true; do eval "$x"; done',
    "a program that goes on": '(echo "\'"; yes) | sh',
    "appending": "while true; do echo abcdefgh >> /tmp/a; done",
    "tee": "yes | tee /tmp/a > /dev/null",
    "reading a large file": "seq 1 200000 > /tmp/s; while read x; do :; done < /tmp/s",
    "many words": "yes | head -200000 | xargs echo > /dev/null; "
    "yes | head -200000 | xargs -n1 true",
    "digging": "while true; do mkdir -p $(yes d/ | head -2000 | tr -d '\\n'); done",
    "a here document": BIG + "while true; do cat <<E\n$x\nE\ndone",
    "a trap": "trap 'kill $$' TERM; kill $$; trap 'kill $$; kill $$' TERM; kill $$",
}


@pytest.mark.parametrize("what", seeds.draw("endless", list(ENDLESS), 16))
def test_a_program_holds_nobody_up_and_uses_no_more_than_its_share(what: str) -> None:
    box = cluster(nodes=1)
    create(box, pod(image="busybox", container={"command": ["sleep", "infinity"]}))
    watch, _said = ran(box, ENDLESS[what])
    turn = turn_seconds()
    assert watch.longest / turn < HELD_TURNS_MAX
    seconds = (box.cluster.kernel.now - watch.began) / SECOND
    assert watch.whole / turn < SHARE_TURNS_MAX * seconds
    assert execute(box, "echo", "still here") == ("still here\n", 0)
