"""Programs of containers that use up what they can."""

from __future__ import annotations

from lifecycle.bench.attacks.making import CORE, Attack, Send, pod


def scripts(*programs: str, count: int = 10) -> Attack:
    """Pods that run these."""
    bodies = (
        pod(f"p{number}-{n}", "sh", "-c", program)
        for number, program in enumerate(programs)
        for n in range(count)
    )
    return Attack(tuple(Send("POST", f"{CORE}/pods", body) for body in bodies))


PATTERN = "a" * 40 + "!"


ATTACKS: dict[str, Attack] = {
    "patterns of grep": scripts(f"while :; do echo '{PATTERN}' | grep -E '(a|aa)*b'; done"),
    "patterns of sed": scripts(f"echo '{PATTERN}' | sed -E 's/(a|aa)*b/x/g'"),
    "a loop of awk": scripts("awk 'BEGIN { while (1) x = x \"aaaaaaaaaaaaaaaa\" }'"),
    "200,000 semicolons": scripts("sed \"$(yes ';' | head -n 200000 | tr -d '\\n')\" /etc/passwd"),
    "sed on a large file": scripts(
        "seq 1 100000 >/tmp/x; while :; do sed -e 's/1/2/g;s/2/3/g;s/3/4/g' /tmp/x >/tmp/y; done"
    ),
    "a fork bomb": scripts(":() { : | : & }; :", "f() { f & f & }; f"),
    "output without end": scripts("yes", "while :; do echo x; done"),
    "full memory": scripts("x=a; while :; do x=$x$x; done", "yes | sort"),
    "full disks": scripts("while :; do cat /etc/* /tmp/x >>/tmp/x; done", "yes >/tmp/x"),
    "numbers without end": scripts("seq 1 1000000000", "seq 1 10000000 | sort -n | uniq -c"),
    "names without end": scripts("while :; do nslookup kubernetes.default; done"),
    "requests between pods": scripts("while :; do wget -qO- http://10.96.0.1:443/; done"),
    "searches": scripts("while :; do find / -name x; done", "while :; do ls -lR /; done"),
    "arithmetic": scripts("x=9; while :; do x=$((x * x % 1000000007)); done"),
    "patterns of case": scripts(
        f"x=$(yes a | head -n 5000 | tr -d '\\n'); case $x in {'*a' * 30}b) ;; esac"
    ),
}
