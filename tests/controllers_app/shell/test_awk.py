"""awk, xargs and other small commands in a container, as one types them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllers_app.shell.commands.awk import parser
from controllers_app.shell.exits import CommandError
from lifecycle.hosting.scripted import Session
from tests.controllers_app.nodelab import execute
from tests.controllers_app.podlab import cluster, create, pod
from tests.fuzz.samples import examples


@pytest.fixture(scope="module")
def box() -> Session:
    session = cluster(nodes=1)
    create(session, pod(image="busybox", container={"command": ["sleep", "infinity"]}))
    text = "ann 30 x\\nbob 4 y\\ncy 12 x\\n"
    execute(session, "sh", "-c", f"printf '{text}' > /tmp/t; printf 'a:1::b\\n' > /tmp/c")
    return session


PROGRAMS = {
    "awk '{print $1}' /tmp/t": "ann\nbob\ncy\n",
    "cat /tmp/t | awk '{print $NF, NR}'": "x 1\ny 2\nx 3\n",
    "awk '{s += $2} END {print s, s/NR}' /tmp/t": "46 15.3333\n",
    "awk '$2 > 10 {print $1}' /tmp/t": "ann\ncy\n",
    "awk '/^b/,/^c/ {print NR\":\"$0}' /tmp/t": "2:bob 4 y\n3:cy 12 x\n",
    "awk -F: '{print NF, $4, \"[\" $3 \"]\"}' /tmp/c": "4 b []\n",
    "awk -F: -v OFS=- '{$1=$1; print; $6=\"z\"; print}' /tmp/c": "a-1--b\na-1--b--z\n",
    "awk '{n[$3]++} END {for (k in n) print k, n[k]}' /tmp/t": "x 2\ny 1\n",
    "awk 'BEGIN {for (i=1; i<=3; i++) {"
    "if (i==2) continue; printf \"%d \", i}; print \"\"}'": "1 3 \n",
    "awk 'BEGIN {printf \"%5.2f|%-4s|%03d|%x|%c\\n\", 3.14159, \"ab\", 7, 255, \"z\"}'":
        " 3.14|ab  |007|ff|z\n",
    "awk 'BEGIN {x = \"A\"; gsub(/b+/, \"<&>\", x); "
    "y = \"abbcb\"; n = gsub(/b+/, \"<&>\", y); print n, y}'":
        "2 a<bb>c<b>\n",
    "awk 'BEGIN {print substr(\"hello\", 2, 3), index(\"abc\", \"c\"), "
    "length(\"four\"), toupper(\"x\")}'":
        "ell 3 4 X\n",
    "awk 'BEGIN {n = split(\"a,b,c\", p, \",\"); print n, p[3], (2 in p), (9 in p)}'": "3 c 1 0\n",
    "awk 'BEGIN {if (match(\"foobar\", /o+/)) print RSTART, RLENGTH}'": "2 2\n",
    "awk 'BEGIN {print 2^10, 7%3, 1/4, -3, !0, 1==1.0, \"10\"<\"9\", 10<9}'":
        "1024 1 0.25 -3 1 1 1 0\n",
    "awk 'BEGIN {while (i < 3) i++; do j++; while (j < 5); "
    "print i j, i \" \" j++ + 1}'": "35 3 6\n",
    "awk 'BEGIN {print length()} {print length}' /tmp/c": "0\n6\n",
    "awk 'BEGIN {print ENVIRON[\"HOME\"] ? \"set\" : \"unset\"; "
    "exit 3} END {print \"end\"}'; echo $?":
        "set\nend\n3\n",
    "awk 'NR==2 {next} {print $1 > \"/tmp/out\"}' /tmp/t; cat /tmp/out": "ann\ncy\n",
    "awk 'BEGIN {RS=\"\"} {print NR\": \"$1}' <<E\na b\n\nc d\nE": "1: a\n2: c\n",
    "awk '!seen[$3]++' /tmp/t": "ann 30 x\nbob 4 y\n",
    "awk 'NR>1 && $3 ~ /x|z/ || /^a/ {c++} END {print c+0}' /tmp/t": "2\n",
    "awk 'END {print $0, NF}' /tmp/t": "cy 12 x 3\n",
    "awk 'BEGIN {a[1,2]=3; for (k in a) {split(k, p, SUBSEP); print p[2]}; "
    "delete a; print length(a)}'":
        "2\n0\n",
    "echo '5 apples' | awk '{print $1 * 2, $2 + 0}'": "10 0\n",
    "awk '{ print }' /tmp/none": "awk: /tmp/none: No such file or directory\n",
    "awk 'BEGIN {print 1' 2>&1": "awk: cmd. line:1: Unexpected token\n",
    "awk 'BEGIN {print 1/0}' 2>&1; echo $?": "awk: cmd. line:1: Division by zero\n1\n",
    "awk 'BEGIN {\"date\" | getline}' 2>&1": "awk: cmd. line:1: getline is not simulated\n",
    "seq 5 | xargs -n 2 echo -": "- 1 2\n- 3 4\n- 5\n",
    "printf 'a b\\nc\\n' | xargs -I{} echo '<{}>'": "<a b>\n<c>\n",
    "printf 'a\\0b c\\0' | xargs -0 -n1 echo": "a\nb c\n",
    "echo one | xargs -r -t echo two": "echo two one\ntwo one\n",
    "printf '' | xargs -r echo no": "",
    "seq 3 | tac | paste -s -d,": "3,2,1\n",
    "echo abc | md5sum; echo abc | sha256sum | cut -c1-8":
        "0bee89b07a248e27c83fc3d5951213c1  -\nedeaaff3\n",
    "sha256sum /tmp/t > /tmp/s; sha256sum -c /tmp/s": "/tmp/t: OK\n",
    "expr 2 + 3 '*' 4; expr 7 / 2; expr a = b; echo $?": "14\n3\n0\n1\n",
    "echo a > /tmp/1; echo b > /tmp/2; diff /tmp/1 /tmp/2; cmp /tmp/1 /tmp/2":
        "--- /tmp/1\n+++ /tmp/2\n@@ -1 +1 @@\n-a\n+b\n/tmp/1 /tmp/2 differ: char 1, line 1\n",
    "f=$(mktemp); test -f $f && echo ${#f}; nproc": "15\n4\n",
    "echo abc | rev | nl": "     1\tcba\n",
}  # fmt: skip


@pytest.mark.parametrize("script", PROGRAMS)
def test_what_one_types_gives_what_it_gives_elsewhere(box: Session, script: str) -> None:
    assert execute(box, "sh", "-c", script)[0] == PROGRAMS[script]


def test_a_program_that_never_ends_holds_nobody_up(box: Session) -> None:
    assert execute(box, "awk", "BEGIN {while (1) i++}") is None
    assert execute(box, "echo", "still here") == ("still here\n", 0)


def test_awk_prints_lines_as_they_come(box: Session) -> None:
    script = "(echo a; sleep 2; echo b) | awk '{print systime() - t, $1; t = systime()}'"
    first, second = execute(box, "sh", "-c", script)[0].splitlines()
    assert first.endswith(" a") and second == "2 b"


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.sampled_from([
    "{", "}", "(", ")", "$", "1", "x", "/a/", "print", "if", "for", ";", "in", "[", "]", "+", "++",
    "~", "!", "?", ":", "=", ",", "\n", '"s"', "BEGIN", "length", "substr(", "while", "do", ">",
])).map(" ".join))  # fmt: skip
def test_any_program_is_parsed_or_refused(source: str) -> None:
    try:
        parser.parse(source)
    except CommandError as error:
        assert str(error).startswith("awk: ")


def test_df_and_mount_show_what_is_mounted() -> None:
    session = cluster(nodes=1)
    volumes = [
        {"name": "data", "emptyDir": {}}, {"name": "fast", "emptyDir": {"medium": "Memory"}},
        {"name": "me", "downwardAPI": {"items": []}},
    ]  # fmt: skip
    mounts = [
        {"name": "data", "mountPath": "/data"}, {"name": "fast", "mountPath": "/fast"},
        {"name": "me", "mountPath": "/etc/me", "readOnly": True},
    ]  # fmt: skip
    box = {"command": ["sleep", "infinity"], "volumeMounts": mounts}
    create(session, pod(image="busybox", container=box, volumes=volumes))

    said, _ = execute(session, "sh", "-c", "cd /data; mkdir a; df -h a; df /fast | tail -1; mount")
    rows = [row.split() for row in said.splitlines()]

    assert rows[0][:5] == ["Filesystem", "Size", "Used", "Available", "Use%"]
    assert rows[1] == ["/dev/sda1", "58.4G", "7.9G", "50.5G", "13%", "/data"]
    assert rows[2] == ["tmpfs", "8388608", "0", "8388608", "0%", "/fast"]
    assert "overlay on / type overlay (rw,relatime)" in said
    assert "/dev/sda1 on /data type ext4 (rw,relatime)" in said
    assert "tmpfs on /etc/me type tmpfs (ro,relatime)" in said
    assert execute(session, "df", "/nope") == ("df: /nope: can't find mount point\n", 1)
