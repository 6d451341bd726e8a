"""Pipelines whose commands run beside each other, jobs, signals, and times that run out."""

from __future__ import annotations

import pytest

from lifecycle.hosting.scripted import Session
from tests.controllers_app.nodelab import execute, log
from tests.controllers_app.podlab import cluster, create, pod


@pytest.fixture(scope="module")
def box() -> Session:
    session = cluster(nodes=1)
    create(session, pod(image="busybox", container={"command": ["sleep", "infinity"]}))
    create(session, pod("site"))
    return session


SCRIPTS = {
    "while true; do echo x; sleep 1; done | head -3": "x\nx\nx\n",
    "yes | head -1; echo $?": "y\n0\n",
    "yes no | grep -m1 no; yes | cat | head -2": "no\ny\ny\n",
    "seq 3 | while read n; do echo -$n; done": "-1\n-2\n-3\n",
    "echo a | { read x; echo got $x; }; echo [$x]": "got a\n[]\n",
    "timeout 2 sleep 10; echo $?": "143\n",
    "timeout 5 echo in time; echo $?": "in time\n0\n",
    "timeout 3 sh -c 'while true; do echo x; sleep 1; done | cat'; echo $?": "x\nx\nx\n143\n",
    "sleep 5 & kill $!; wait $!; echo $?": "143\n",
    "sleep 5 & kill -9 $!; wait $!; echo $?": "137\n",
    "(sleep 1; echo late) & echo early; wait; echo end": "early\nlate\nend\n",
    "(exit 7) & wait $!; echo $?": "7\n",
    "trap 'echo bye' EXIT; echo hi": "hi\nbye\n",
    "trap 'echo term' TERM; kill $$; echo after": "term\nafter\n",
    "sleep 9 & jobs; kill %1; wait": "[1]+  Running                 sleep 9\n",
    "kill 4242; echo $?": "sh: can't kill pid 4242: No such process\n1\n",
    "seq 100000 | sort -rn | head -1": "100000\n",
    "echo a b | tee /tmp/t | wc -w; cat /tmp/t": "2\na b\n",
    "false | true; echo $?; true | false; echo $?": "0\n1\n",
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_commands_run_beside_each_other(box: Session, script: str) -> None:
    assert execute(box, "sh", "-c", script)[0].replace("kill: ", "sh: ") == SCRIPTS[script]


def test_timeout_of_coreutils_ends_with_124(box: Session) -> None:
    assert execute(box, "timeout", "1", "sleep", "5", name="site") == ("", 124)


def test_ctrl_c_ends_a_whole_pipeline_and_jobs_are_listed(box: Session) -> None:
    out, code = execute(box, "sh", stdin=b"yes | sleep 60\r\x03echo $?\rexit 3\r", tty=True)
    assert "130\r\n" in out and code == 3
    out, _ = execute(box, "sh", stdin=b"sleep 1 &\rsleep 2\r\rexit\r", tty=True)
    assert "[1]+  Done" in out


def test_the_time_of_a_pipelines_lines_is_when_they_were_written(box: Session) -> None:
    script = "for i in 1 2 3; do date +%s; sleep 2; done | while read t; do echo $t; done"
    args = {"command": ["sh", "-c", script + "; sleep 100"]}
    create(box, pod("clock", image="busybox", container=args))
    box.wait(10)
    seconds = [int(one) for one in log(box, "clock").split()]
    assert [second - seconds[0] for second in seconds] == [0, 2, 4]
