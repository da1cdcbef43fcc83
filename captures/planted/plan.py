"""Which captures are made, and with what parameters."""

import causes
import more_causes
import principles
import waiting

SHIPPED = {
    "lossy-wire": (causes.lossy_wire, {}),
    "full-disk": (causes.full_disk, {}),
    "slow-directory": (causes.slow_directory, {}),
    "slow-share": (causes.slow_share, {}),
    "slow-client": (causes.slow_client, {}),
    "few-credits": (causes.few_credits, {}),
    "busy-server": (causes.busy_server, {}),
    "unanswered-break": (causes.unanswered_break, {}),
    "slow-reader": (causes.slow_reader, {}),
    "split-requests": (causes.split_requests, {}),
    "chatty-client": (causes.chatty_client, {}),
    "stopped-server": (causes.stopped_server, {}),
    "wrong-password": (causes.wrong_password, {}),
    "stale-handles": (causes.stale_handles, {}),
    "slow-server": (more_causes.slow_server, {}),
    "small-window": (more_causes.small_window, {}),
    "split-responses": (more_causes.split_responses, {}),
    "one-disk": (more_causes.one_disk, {}),
    "slow-commit": (more_causes.slow_commit, {}),
    "denied": (more_causes.denied, {}),
    "share-refused": (more_causes.share_refused, {}),
    "slow-smb-client": (more_causes.slow_smb_client, {}),
    "read-only": (principles.read_only, {}),
    "black-hole": (principles.black_hole, {}),
    "slow-logon": (principles.slow_logon, {}),
    "restart": (principles.restart, {}),
    "lock-nlm": (waiting.lock_nlm, {}),
    "lock-nfs4": (waiting.lock_nfs4, {}),
    "dead-dns": (waiting.dead_dns, {}),
    "healthy-change": (more_causes.healthy_change, {}),
    "healthy-probes": (more_causes.healthy_probes, {}),
    "healthy-samba": (causes.healthy_office, {}),
    "healthy-ganesha": (causes.healthy_office, {"server": "ganesha", "clients": 2, "pause_s": 0.08}),
    "healthy-stream": (causes.healthy_stream, {}),
}

# Causes for rules that blind sets lacked, which are not in the repository.
PRINCIPLES = {
    "root-squash": (principles.root_squash, {}),
    "stalled-reader": (principles.stalled_reader, {}),
    "own-directory": (principles.own_directory, {}),
    "durable-writes": (principles.durable_writes, {}),
    "smb-restart": (principles.smb_restart, {}),
    "far-network": (principles.far_network, {}),
}

# The same causes with other servers, sizes and times, to try rules on that were changed after the shipped captures were judged.
FRESH = {
    "fresh-lossy-wire": (causes.lossy_wire, {"server": "ganesha", "loss": 5, "delay_ms": 8}),
    "fresh-full-disk": (causes.full_disk, {"server": "ganesha", "clients": 3, "kilobytes": 900}),
    "fresh-slow-directory": (causes.slow_directory, {"directory": "2019", "others": ("2020", "2021"), "ms": 60, "calls": "open", "clients": 2, "gets": 40}),
    "fresh-slow-share": (causes.slow_share, {"slow": "cad", "others": ("mail", "web", "hr"), "ms": 30, "clients": 2, "pause_s": 0.4}),
    "fresh-slow-client": (causes.slow_client, {"clients": 3, "slow": 2, "wire": (80, 0, 0), "size": 300_000, "gets": 4, "pause_s": 1}),
    "fresh-few-credits": (causes.few_credits, {"credits": 6, "delay_ms": 15, "depth": 32, "seconds": 3}),
    "fresh-busy-server": (causes.busy_server, {"server": "samba", "ms": 15, "clients": 5, "calm_s": 4, "busy_s": 4}),
    "fresh-unanswered-break": (causes.unanswered_break, {"opens": 3, "stopped_s": 4}),
    "fresh-slow-reader": (causes.slow_reader, {"bytes_per_s": 100_000, "size": 700_000, "share": "backup"}),
    "fresh-split-requests": (causes.split_requests, {"server": "samba", "seconds": 10}),
    "fresh-chatty-client": (causes.chatty_client, {"server": "ganesha", "delay_ms": 30, "seconds": 8}),
    "fresh-stopped-server": (causes.stopped_server, {"server": "ganesha", "clients": 3, "pause_s": 0.8, "before_s": 3, "seconds": 8}),
    "fresh-denied-writes": (causes.denied_writes, {}),
    "fresh-wrong-password": (causes.wrong_password, {"attempts": 12, "clients": 1, "seconds": 6}),
    "fresh-stale-handles": (causes.stale_handles, {"clients": 4, "at_s": 4}),
    "fresh-healthy-samba": (causes.healthy_office, {"clients": 5, "pause_s": 0.3, "seconds": 10}),
    "fresh-healthy-far": (causes.healthy_far, {}),
    "fresh-healthy-torture": (causes.healthy_torture, {}),
    "fresh-healthy-stream": (causes.healthy_stream, {"clients": 3, "size": 1_200_000, "rounds": 4, "pause_s": 0.3}),
}
PLAN = {**SHIPPED, **PRINCIPLES, **FRESH}
