"""The commands of etcdctl as data: their words, flags, help and an example each.

Those that are refused by name say why; nothing of etcdctl is silently ignored.

Models etcd etcdctl/ctlv3/ctl.go and the `New...Command` functions of ctlv3/command.
"""

from __future__ import annotations

from typing import NamedTuple

from lifecycle.etcdctl.flags import Flag


class Command(NamedTuple):
    """One command; `program` finds its function by `name`."""

    name: str  # "lease grant"
    use: str
    about: str
    example: str = ""
    description: str = ""


_PREV = "return the previous key-value pair before modification"
FLAGS: dict[str, tuple[Flag, ...]] = {
    "get": (
        Flag("consistency", "string", "l", "Linearizable(l) or Serializable(s)"),
        Flag("count-only", "bool", False, "Get only the count"),
        Flag("from-key", "bool", False, "Get keys that are greater than or equal to the given key "
             "using byte compare"),
        Flag("keys-only", "bool", False, "Get only the keys"),
        Flag("limit", "int", 0, "Maximum number of results"),
        Flag("max-create-rev", "int", 0, "Maximum create revision"),
        Flag("max-mod-rev", "int", 0, "Maximum modification revision"),
        Flag("min-create-rev", "int", 0, "Minimum create revision"),
        Flag("min-mod-rev", "int", 0, "Minimum modification revision"),
        Flag("order", "string", "", "Order of results; ASCEND or DESCEND (ASCEND by default)"),
        Flag("prefix", "bool", False, "Get keys with matching prefix"),
        Flag("print-value-only", "bool", False,
             'Only write values when using the "simple" output format'),
        Flag("rev", "int", 0, "Specify the kv revision"),
        Flag("sort-by", "string", "", "Sort target; CREATE, KEY, MODIFY, VALUE, or VERSION"),
    ),
    "put": (
        Flag("ignore-lease", "bool", False, "updates the key using its current lease"),
        Flag("ignore-value", "bool", False, "updates the key using its current value"),
        Flag("lease", "string", "0", "lease ID (in hexadecimal) to attach to the key"),
        Flag("prev-kv", "bool", False, _PREV),
    ),
    "del": (
        Flag("from-key", "bool", False, "delete keys that are greater than or equal to the given "
             "key using byte compare"),
        Flag("prefix", "bool", False, "delete keys with matching prefix"),
        Flag("prev-kv", "bool", False, "return deleted key-value pairs"),
        Flag("range", "bool", False, "delete range of keys"),
    ),
    "txn": (Flag("interactive", "bool", False, "Input transaction in interactive mode", "i"),),
    "watch": (
        Flag("interactive", "bool", False, "Interactive mode", "i"),
        Flag("prefix", "bool", False, "Watch on a prefix if prefix is set"),
        Flag("prev-kv", "bool", False,
             "get the previous key-value pair before the event happens"),
        Flag("rev", "int", 0, "Revision to start watching"),
    ),
    "compaction": (
        Flag("physical", "bool", False, "'true' to wait for compaction to physically remove all "
             "old revisions"),
    ),
    "lease timetolive": (Flag("keys", "bool", False, "Get keys attached to this lease"),),
    "lease keep-alive": (
        Flag("once", "bool", False, "Resets the keep-alive time to its original value and "
             "cobrautl.Exits immediately"),
    ),
    "endpoint health": (
        Flag("cluster", "bool", False, "use all endpoints from the cluster member list"),
    ),
    "endpoint status": (
        Flag("cluster", "bool", False, "use all endpoints from the cluster member list"),
    ),
    "endpoint hashkv": (
        Flag("cluster", "bool", False, "use all endpoints from the cluster member list"),
        Flag("rev", "int", 0, "maximum revision to hash (default: latest revision)"),
    ),
    "member add": (
        Flag("learner", "bool", False, "indicates if the new member is raft learner"),
        Flag("peer-urls", "string", "", "comma separated peer URLs for the new member."),
    ),
    "member list": (
        Flag("consistency", "string", "l", "Linearizable(l) or Serializable(s)"),
    ),
    "member update": (
        Flag("peer-urls", "string", "", "comma separated peer URLs for the updated member."),
    ),
    "lock": (Flag("ttl", "int", 10, "timeout for session"),),
    "elect": (Flag("listen", "bool", False, "observation mode", "l"),),
    "defrag": (
        Flag("cluster", "bool", False, "use all endpoints from the cluster member list"),
    ),
}  # fmt: skip

COMMANDS: tuple[Command, ...] = (
    Command("alarm disarm", "alarm disarm", "Disarms all alarms", "etcdctl alarm disarm"),
    Command("alarm list", "alarm list", "Lists all alarms", "etcdctl alarm list"),
    Command("auth disable", "auth disable", "Disables authentication", "etcdctl auth disable"),
    Command("auth enable", "auth enable", "Enables authentication", "etcdctl auth enable"),
    Command("auth status", "auth status", "Returns authentication status", "etcdctl auth status"),
    Command("compaction", "compaction [options] <revision>",
            "Compacts the event history in etcd", "etcdctl compaction 1234"),
    Command("defrag", "defrag",
            "Defragments the storage of the etcd members with given endpoints", "etcdctl defrag"),
    Command("del", "del [options] <key> [range_end]",
            "Removes the specified key or range of keys [key, range_end)",
            "etcdctl del /demo/ --prefix --prev-kv"),
    Command("elect", "elect <election-name> [proposal]",
            "Observes and participates in leader election", "etcdctl elect chair ann"),
    Command("endpoint hashkv", "endpoint hashkv",
            "Prints the KV history hash for each endpoint in --endpoints",
            "etcdctl endpoint hashkv -w table"),
    Command("endpoint health", "endpoint health",
            "Checks the healthiness of endpoints specified in `--endpoints` flag",
            "etcdctl endpoint health -w table"),
    Command("endpoint status", "endpoint status",
            "Prints out the status of endpoints specified in `--endpoints` flag",
            "etcdctl endpoint status -w table"),
    Command("get", "get [options] <key> [range_end]", "Gets the key or a range of keys",
            "etcdctl get /registry/pods --prefix --keys-only"),
    Command("lease grant", "lease grant <ttl>", "Creates leases", "etcdctl lease grant 60"),
    Command("lease keep-alive", "lease keep-alive [options] <leaseID>",
            "Keeps leases alive (renew)", "etcdctl lease keep-alive --once 32695410dcc0ca06"),
    Command("lease list", "lease list", "List all active leases", "etcdctl lease list"),
    Command("lease revoke", "lease revoke <leaseID>", "Revokes leases",
            "etcdctl lease revoke 32695410dcc0ca06"),
    Command("lease timetolive", "lease timetolive <leaseID> [options]", "Get lease information",
            "etcdctl lease timetolive 32695410dcc0ca06 --keys"),
    Command("lock", "lock <lockname> [exec-command arg1 arg2 ...]", "Acquires a named lock",
            "etcdctl lock mine echo has it"),
    Command("member add", "member add <memberName> [options]",
            "Adds a member into the cluster",
            "etcdctl member add node-2 --peer-urls=https://10.0.0.12:2380"),
    Command("member list", "member list", "Lists all members in the cluster",
            "etcdctl member list -w table"),
    Command("member promote", "member promote <memberID>",
            "Promotes a non-voting member in the cluster",
            "etcdctl member promote 8e9e05c52164694d"),
    Command("member remove", "member remove <memberID>",
            "Removes a member from the cluster", "etcdctl member remove 8e9e05c52164694d"),
    Command("member update", "member update <memberID> [options]",
            "Updates a member in the cluster",
            "etcdctl member update 8e9e05c52164694d --peer-urls=https://10.0.0.12:2380"),
    Command("move-leader", "move-leader <transferee-member-id>",
            "Transfers leadership to another etcd cluster member.",
            "etcdctl move-leader 8e9e05c52164694d"),
    Command("put", "put [options] <key> <value> (<value> can also be given from stdin)",
            "Puts the given key into the store", 'etcdctl put /demo/greeting "hello"'),
    Command("role list", "role list", "Lists all roles", "etcdctl role list"),
    Command("snapshot save", "snapshot save <filename>",
            "Stores an etcd node backend snapshot to a given file",
            "etcdctl snapshot save /var/lib/etcd/snapshot.db"),
    Command("snapshot status", "snapshot status <filename>",
            "[deprecated] Gets backend snapshot status of a given file",
            "etcdctl snapshot status /var/lib/etcd/snapshot.db -w table"),
    Command("txn", "txn [options]", "Txn processes all the requests in one transaction",
            "etcdctl txn -i\n# compares:\nmod(\"key1\") > \"0\"\n\n# success requests (get, put, "
            "del):\nput key1 \"overwrote-key1\"\n\n# failure requests (get, put, del):\nput key1 "
            "\"created-key1\""),
    Command("user list", "user list", "Lists all users", "etcdctl user list"),
    Command("version", "version", "Prints the version of etcdctl", "etcdctl version"),
    Command("watch", "watch [options] [key or prefix] [range_end]",
            "Watches events stream on keys or prefixes",
            "etcdctl watch /registry/pods --prefix --rev 100"),
)  # fmt: skip

# what etcd has and this one has not, with the reason
REFUSED: dict[str, str] = {
    "check": "the store's speed says nothing of a real etcd's",
    "completion": "there is nothing to complete in",
    "downgrade": "the store has one version",
    "make-mirror": "there is no second cluster",
    "role": "the store has no users: only the API server's certificate opens it",
    "snapshot restore": "the store is the API server's, too: nothing else can be put in its place",
    "user": "the store has no users: only the API server's certificate opens it",
}
