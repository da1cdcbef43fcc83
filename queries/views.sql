-- The tables of recordings as views that every engine reads alike: whole numbers, instants in ns since 1970, days and hours in UTC.
-- What stands in braces differs between engines: see ask.py.

-- Operations that the statistics count: an NFSv4 compound once, nothing that waits for another client (long-lived).
-- response_ns: the headline response time of the report (for runs with a schedule, from the intended start). A response that was captured
-- before its request has no time.
-- wait_ns: clients wait once for an SMB2 compound or AndX chain, so only its first member has the time.
create view transactions as select
  protocol, procedure, operation, {group} as operation_group,
  regexp_replace(client, ':[0-9]+$', '') as client, server, share, path, {user} as account, outcome,
  cast(status as bigint) as status, cast(payload_bytes as bigint) as payload_bytes, {sent} as sent_ns,
  case when {ended} >= {began} then {ended} - {began} end as response_ns,
  case when compound_position is null or compound_position = 0 or protocol in ('NFS4', 'NFS4CB')
    then case when {ended} >= {began} then {ended} - {began} end else 0 end as wait_ns, {sent_hour} as hour, {sent_day} as day, {sent_week} as week
from recorded_transactions
where counted and not long_lived and outcome <> 'never_sent' and procedure <> 'WRITE_RAW async portion';

create view intervals as select
  protocol, procedure, operation, {group} as operation_group, {start} as start_ns, {start_hour} as hour, {start_day} as day,
  {start_week} as week, cast({count} as bigint) as operations, cast(errors as bigint) as errors,
  cast(unanswered as bigint) as unanswered, cast(payload_bytes as bigint) as payload_bytes,
  cast(response_count as bigint) as responses, cast(response_sum_ns as bigint) as response_sum_ns
from recorded_intervals;

create view histograms as select
  protocol, procedure, operation, {group} as operation_group, {start} as start_ns, {start_hour} as hour, {start_day} as day,
  {start_week} as week, cast(from_ns as bigint) as from_ns, cast(to_ns as bigint) as to_ns,
  cast({count} as bigint) as responses
from recorded_histograms
