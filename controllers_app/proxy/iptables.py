"""The rules that kube-proxy writes in the mode iptables. Pure.

Models kubernetes pkg/proxy/iptables/proxier.go.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from controllers_app.proxy.servicemap import Endpoint, Endpoints, Node, ServicePort

MARK = "0x4000"
BUILT_IN = {
    "mangle": ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"),
    "filter": ("INPUT", "FORWARD", "OUTPUT"),
    "nat": ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"),
}
_LARGE = 1000  # endpoints from which on their rules have no comments


class Text(NamedTuple):
    """A part of a rule, as iptables-save has it and as iptables -L has it."""

    saved: str
    listed: str


class Rule(NamedTuple):
    table: str
    chain: str
    matches: tuple[Text, ...] = ()
    target: str = ""  # a chain or a verdict; without one the rule only says something
    option: Text | None = None  # of the target
    source: str = ""  # "! " before it: any other
    destination: str = ""
    protocol: str = ""


Tables = dict[str, dict[str, list[Rule]]]  # table -> chain -> its rules


def are_many(ports: Iterable[ServicePort]) -> bool:
    """Whether the endpoints are so many that their rules have no comments."""
    return sum(len(port.reachable) for port in ports) > _LARGE


def tables(rules: Iterable[Rule]) -> Tables:
    """All that a node has, with the rules of its ports."""
    made: Tables = {
        table: {chain: [] for chain in (*chains, *_CHAINS[table])}
        for table, chains in BUILT_IN.items()
    }
    for rule in (*_JUMPS, *rules, *_LAST):
        made[rule.table].setdefault(rule.chain, []).append(rule)
    return {
        table: {
            name: chains[name]
            for name in (*BUILT_IN[table], *sorted(chains.keys() - set(BUILT_IN[table])))
        }
        for table, chains in made.items()
    }


def of_port(port: ServicePort, node: Node, pods: str, *, comments: bool = True) -> Iterator[Rule]:
    """What one port of a service adds to the tables. `pods` is the range of the pods' addresses, if
    it is known."""
    yield from _captures(port)
    if port.internal and pods:
        yield _nat(
            _chain("SVL" if port.is_internal_local else "SVC", port),
            *_to_port(port, "cluster IP"),
            target=_MASQUERADE,
            source=f"! {pods}",
            destination=f"{port.cluster_ip}/32",
            protocol=port.protocol,
        )
    if port.has_endpoints and port.is_external:
        yield from _external(port, pods)
    if _has_firewall(port):
        yield from _firewall(port, node)
    if port.cluster:
        yield from _balanced(_chain("SVC", port), port, port.cluster, comments)
    if port.local:
        yield from _balanced(_chain("SVL", port), port, port.local, comments)
    for endpoint in port.reachable:
        yield from _to_endpoint(port, endpoint, comments)


def probability(n: int) -> str:
    """One in n, as the kernel keeps it."""
    return f"{round(float(f'{1 / n:.10f}') * 2**31) / 2**31:.11f}"


# -- parts of rules -------------------------------------------------------------------------------


def _comment(text: str) -> Text:
    return Text(f'-m comment --comment "{text}"', f"/* {text} */")


def _dport(protocol: str, port: int) -> Text:
    return Text(f"-m {protocol} --dport {port}", f"{protocol} dpt:{port}")


def _state(states: str, no: str = "") -> Text:
    return Text(f"-m conntrack {no}--ctstate {states}", f"{no}ctstate {states}")


def _local(end: str) -> Text:
    return Text(f"-m addrtype --{end}-type LOCAL", f"ADDRTYPE match {end}-type LOCAL")


def _counter(name: str) -> Text:
    return Text(f"-m nfacct --nfacct-name  {name}", f"nfacct-name  {name}")


def _marked(no: str = "") -> Text:
    return Text(f"-m mark {no}--mark {MARK}/{MARK}", f"mark match {no}{MARK}/{MARK}")


def _recent(words: str, listed: str, name: str) -> Text:
    return Text(
        f"-m recent {words} --name {name} --mask 255.255.255.255 --rsource",
        f"recent: {listed} name: {name} side: source mask: 255.255.255.255",
    )


_NEW = _state("NEW")
_REJECT = Text("--reject-with icmp-port-unreachable", "reject-with icmp-port-unreachable")
_MASQUERADE = "KUBE-MARK-MASQ"


def _nat(
    chain: str,
    *matches: Text,
    target: str = "",
    option: Text | None = None,
    source: str = "",
    destination: str = "",
    protocol: str = "",
) -> Rule:
    return Rule("nat", chain, matches, target, option, source, destination, protocol)


def _hash(text: str) -> str:
    return base64.b32encode(hashlib.sha256(text.encode()).digest()).decode()[:16]


def _chain(kind: str, port: ServicePort) -> str:
    return f"KUBE-{kind}-{_hash(port.name + port.protocol)}"


def _endpoint_chain(port: ServicePort, endpoint: Endpoint) -> str:
    return f"KUBE-SEP-{_hash(port.name + port.protocol + endpoint.address)}"


def _to_port(port: ServicePort, what: str) -> tuple[Text, Text]:
    return _comment(f"{port.name} {what}"), _dport(port.protocol, port.port)


# -- what a port adds -----------------------------------------------------------------------------


def _captures(port: ServicePort) -> Iterator[Rule]:
    """From the addresses and ports that packets are sent to, to the port's own chains; without
    endpoints, to a refusal."""
    none = "local endpoints" if port.has_endpoints else "endpoints"
    nobody = _comment(f"{port.name} has no {none}")
    verdict, option = ("DROP", None) if port.has_endpoints else ("REJECT", _REJECT)
    external = _chain("EXT", port)
    balancer = _chain("FW", port) if _has_firewall(port) else external

    def refusal(chain: str, destination: str) -> Rule:
        dport, to = _dport(port.protocol, port.port), f"{destination}/32"
        return Rule("filter", chain, (nobody, dport), verdict, option, "", to, port.protocol)

    def capture(what: str, destination: str, target: str) -> Rule:
        return _nat(
            "KUBE-SERVICES",
            *_to_port(port, what),
            target=target,
            destination=f"{destination}/32",
            protocol=port.protocol,
        )

    if port.internal:
        chain = _chain("SVL" if port.is_internal_local else "SVC", port)
        yield capture("cluster IP", port.cluster_ip, chain)
    else:
        yield refusal("KUBE-SERVICES", port.cluster_ip)
    outer = [(ip, "external IP", external) for ip in port.external_ips]
    outer += [(ip, "loadbalancer IP", balancer) for ip in port.balancer_ips]
    for ip, what, target in outer:
        if port.has_endpoints:
            yield capture(what, ip, target)
        if not port.external:
            yield refusal("KUBE-EXTERNAL-SERVICES", ip)
    if port.node_port:
        dport = _dport(port.protocol, port.node_port)
        if port.has_endpoints:
            name = _comment(port.name)
            yield _nat(
                "KUBE-NODEPORTS",
                *(name, dport, _counter("localhost_nps_accepted_pkts")),
                target=external,
                destination="127.0.0.0/8",
                protocol=port.protocol,
            )
            yield _nat("KUBE-NODEPORTS", name, dport, target=external, protocol=port.protocol)
        if not port.external:
            where, to = "KUBE-EXTERNAL-SERVICES", (nobody, _local("dst"), dport)
            yield Rule("filter", where, to, verdict, option, protocol=port.protocol)
    if port.health_port:
        health = _comment(f"{port.name} health check node port"), _dport("tcp", port.health_port)
        yield Rule("filter", "KUBE-NODEPORTS", health, "ACCEPT", protocol="tcp")


def _external(port: ServicePort, pods: str) -> Iterator[Rule]:
    """The chain for what comes from outside; pods and the node itself go to all endpoints."""
    chain, cluster = _chain("EXT", port), _chain("SVC", port)
    to = f"for {port.name} external destinations"
    if not port.is_external_local:
        yield _nat(chain, _comment(f"masquerade traffic {to}"), target=_MASQUERADE)
    else:
        if pods:
            yield _nat(chain, _comment(f"pod traffic {to}"), target=cluster, source=pods)
        own = _local("src")
        yield _nat(chain, _comment(f"masquerade LOCAL traffic {to}"), own, target=_MASQUERADE)
        yield _nat(chain, _comment(f"route LOCAL traffic {to}"), own, target=cluster)
    if port.external:
        yield _nat(chain, target=_chain("SVL", port) if port.is_external_local else cluster)


def _has_firewall(port: ServicePort) -> bool:
    return port.has_endpoints and bool(port.balancer_ips) and bool(port.source_ranges)


def _firewall(port: ServicePort, node: Node) -> Iterator[Rule]:
    """Who may come through the load balancer, by loadBalancerSourceRanges."""
    chain, external = _chain("FW", port), _chain("EXT", port)
    address = ipaddress.ip_address(node.address)
    sources = list(port.source_ranges)
    if any(address in ipaddress.ip_network(block, strict=False) for block in sources):
        sources += [f"{ip}/32" for ip in port.balancer_ips]
    comment = _comment(f"{port.name} loadbalancer IP")
    for source in sources:
        yield _nat(chain, comment, target=external, source=source)
    yield _nat(
        chain, _comment(f"other traffic to {port.name} will be dropped by KUBE-PROXY-FIREWALL")
    )
    for ip in port.balancer_ips:
        matches = _to_port(port, f"traffic not accepted by {chain}")
        where = "KUBE-PROXY-FIREWALL"
        yield Rule("filter", where, matches, "DROP", None, "", f"{ip}/32", port.protocol)


def _balanced(
    chain: str, port: ServicePort, endpoints: Endpoints, comments: bool
) -> Iterator[Rule]:
    """To the endpoints by chance; with affinity, first to the one that the client had."""

    def comment(endpoint: Endpoint) -> tuple[Text, ...]:
        return (_comment(f"{port.name} -> {endpoint.address}"),) if comments else ()

    if port.sticky_seconds:
        for endpoint in endpoints:
            name = _endpoint_chain(port, endpoint)
            seconds = port.sticky_seconds
            words = f"--rcheck --seconds {seconds} --reap"
            recent = _recent(words, f"CHECK seconds: {seconds} reap", name)
            yield _nat(chain, *comment(endpoint), recent, target=name)
    for left, endpoint in zip(range(len(endpoints), 0, -1), endpoints, strict=True):
        chance = f"mode random probability {probability(left)}"
        saved = f"-m statistic --{chance.replace('probability', '--probability')}"
        matches = (Text(saved, f"statistic {chance}"),) if left > 1 else ()
        target = _endpoint_chain(port, endpoint)
        yield _nat(chain, *comment(endpoint), *matches, target=target)


def _to_endpoint(port: ServicePort, endpoint: Endpoint, comments: bool) -> Iterator[Rule]:
    chain = _endpoint_chain(port, endpoint)
    comment = (_comment(port.name),) if comments else ()
    yield _nat(chain, *comment, target=_MASQUERADE, source=f"{endpoint.ip}/32")
    recent = (_recent("--set", "SET", chain),) if port.sticky_seconds else ()
    yield _nat(
        chain,
        *(*comment, *recent, Text(f"-m {port.protocol}", port.protocol)),
        target="DNAT",
        option=Text(f"--to-destination {endpoint.address}", f"to:{endpoint.address}"),
        protocol=port.protocol,
    )


# -- what is there without any service -----------------------------------------------------------


def _jumps(table: str, chain: str, to: str, comment: str, *first: Text) -> Rule:
    return Rule(table, chain, (*first, _comment(comment)), to)


_PORTALS, _FIREWALL = "kubernetes service portals", "kubernetes load balancer firewall"
_OUTER, _HEALTH = (
    "kubernetes externally-visible service portals",
    ("kubernetes health check service ports"),
)
_CHAINS = {
    "mangle": ("KUBE-PROXY-CANARY",),
    "filter": tuple(
        f"KUBE-{name}"
        for name in """
        EXTERNAL-SERVICES FIREWALL FORWARD NODEPORTS PROXY-CANARY PROXY-FIREWALL SERVICES
        """.split()
    ),
    "nat": tuple(
        f"KUBE-{name}" for name in "MARK-MASQ NODEPORTS POSTROUTING PROXY-CANARY SERVICES".split()
    ),
}
_JUMPS = (
    _jumps("nat", "PREROUTING", "KUBE-SERVICES", _PORTALS),
    _jumps("nat", "OUTPUT", "KUBE-SERVICES", _PORTALS),
    _jumps("nat", "POSTROUTING", "KUBE-POSTROUTING", "kubernetes postrouting rules"),
    _nat(_MASQUERADE, target="MARK", option=Text(f"--set-xmark {MARK}/{MARK}", f"MARK or {MARK}")),
    _nat("KUBE-POSTROUTING", _marked("! "), target="RETURN"),
    _nat(
        "KUBE-POSTROUTING",
        target="MARK",
        option=Text(f"--set-xmark {MARK}/0x0", f"MARK xor {MARK}"),
    ),
    _nat(
        "KUBE-POSTROUTING",
        _comment("kubernetes service traffic requiring SNAT"),
        target="MASQUERADE",
        option=Text("--random-fully", "random-fully"),
    ),
    Rule("filter", "INPUT", (), "KUBE-FIREWALL"),
    _jumps("filter", "INPUT", "KUBE-PROXY-FIREWALL", _FIREWALL, _NEW),
    _jumps("filter", "INPUT", "KUBE-NODEPORTS", _HEALTH),
    _jumps("filter", "INPUT", "KUBE-EXTERNAL-SERVICES", _OUTER, _NEW),
    _jumps("filter", "FORWARD", "KUBE-PROXY-FIREWALL", _FIREWALL, _NEW),
    _jumps("filter", "FORWARD", "KUBE-FORWARD", "kubernetes forwarding rules"),
    _jumps("filter", "FORWARD", "KUBE-SERVICES", _PORTALS, _NEW),
    _jumps("filter", "FORWARD", "KUBE-EXTERNAL-SERVICES", _OUTER, _NEW),
    Rule("filter", "OUTPUT", (), "KUBE-FIREWALL"),
    _jumps("filter", "OUTPUT", "KUBE-PROXY-FIREWALL", _FIREWALL, _NEW),
    _jumps("filter", "OUTPUT", "KUBE-SERVICES", _PORTALS, _NEW),
    Rule(
        "filter",
        "KUBE-FIREWALL",
        (_comment("block incoming localnet connections"), _state("RELATED,ESTABLISHED,DNAT", "! ")),
        "DROP",
        source="! 127.0.0.0/8",
        destination="127.0.0.0/8",
    ),
    Rule(
        "filter",
        "KUBE-FORWARD",
        (_state("INVALID"), _counter("ct_state_invalid_dropped_pkts")),
        "DROP",
    ),
    Rule("filter", "KUBE-FORWARD", (_comment("kubernetes forwarding rules"), _marked()), "ACCEPT"),
    Rule(
        "filter",
        "KUBE-FORWARD",
        (_comment("kubernetes forwarding conntrack rule"), _state("RELATED,ESTABLISHED")),
        "ACCEPT",
    ),
)
_LAST = (
    _nat(
        "KUBE-SERVICES",
        _comment("kubernetes service nodeports; NOTE: this must be the last rule in this chain"),
        _local("dst"),
        target="KUBE-NODEPORTS",
    ),
)


# -- as text --------------------------------------------------------------------------------------

_NUMBERS = {"": "0", "tcp": "6", "udp": "17", "sctp": "132"}


def saved(rule: Rule) -> str:
    """The rule as iptables-save prints it."""
    words = [f"-A {rule.chain}"]
    for flag, text in (("-s", rule.source), ("-d", rule.destination), ("-p", rule.protocol)):
        if text:
            words.append(f"! {flag} {text[2:]}" if text.startswith("! ") else f"{flag} {text}")
    words += [match.saved for match in rule.matches]
    if rule.target:
        words.append(f"-j {rule.target}")
    if rule.option is not None:
        words.append(rule.option.saved)
    return " ".join(words)


def save(table: str, chains: dict[str, list[Rule]]) -> Iterator[str]:
    """One table as iptables-save prints it."""
    yield f"*{table}"
    for name in chains:
        yield f":{name} {'ACCEPT' if name in BUILT_IN[table] else '-'} [0:0]"
    for rules in chains.values():
        yield from map(saved, rules)
    yield "COMMIT"


def specification(table: str, chains: dict[str, list[Rule]], chosen: str) -> Iterator[str]:
    """Chains as iptables -S prints them, one of them or all."""
    names = [chosen] if chosen else list(chains)
    for name in names:
        yield f"-P {name} ACCEPT" if name in BUILT_IN[table] else f"-N {name}"
    for name in names:
        yield from map(saved, chains[name])


def listing(
    table: str, chains: dict[str, list[Rule]], chosen: str, *, numeric: bool, numbered: bool
) -> Iterator[str]:
    """Chains as iptables -L prints them, one of them or all."""
    uses = Counter(rule.target for rules in chains.values() for rule in rules)
    for place, name in enumerate([chosen] if chosen else list(chains)):
        if place:
            yield ""
        about = "policy ACCEPT" if name in BUILT_IN[table] else f"{uses[name]} references"
        yield f"Chain {name} ({about})"
        number = f"{'num':<5}" if numbered else ""
        yield f"{number}{'target':<10} prot opt {'source':<20} {'destination':<20}"
        for count, rule in enumerate(chains[name], 1):
            number = f"{count:<5}" if numbered else ""
            yield f"{number}{_listed(rule, numeric=numeric)}"


def _listed(rule: Rule, *, numeric: bool) -> str:
    protocol = _NUMBERS[rule.protocol] if numeric else rule.protocol or "all"
    ends = "".join(
        f"{'!' if text.startswith('! ') else ' '}{_address(text, numeric=numeric):<19} "
        for text in (rule.source, rule.destination)
    )
    parts = [match.listed for match in rule.matches]
    if rule.option is not None:
        parts.append(rule.option.listed)
    more = "".join(f" {part}" for part in parts)
    return f"{rule.target:<9}  {protocol:<4} -- {ends}{more}"


def _address(text: str, *, numeric: bool) -> str:
    anywhere = "0.0.0.0/0" if numeric else "anywhere"
    return text.removeprefix("! ").removesuffix("/32") or anywhere


def of_service(ports: Iterable[ServicePort], node: Node, pods: str) -> str:
    """What a service has in the tables."""
    rules = [rule for port in ports for rule in of_port(port, node, pods)]
    return "".join(
        f"*{table}\n" + "".join(f"{saved(rule)}\n" for rule in rules if rule.table == table)
        for table in ("nat", "filter")
        if any(rule.table == table for rule in rules)
    )
