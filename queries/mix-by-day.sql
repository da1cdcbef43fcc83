-- What did the clients do, day by day? Shares in thousandths of the day's operations.
with summed as (
  select day, protocol, operation_group, sum(operations) as operations, sum(payload_bytes) as payload_bytes
  from intervals group by day, protocol, operation_group
)
select day, protocol, operation_group, operations, payload_bytes,
  floor(operations * 1000 / sum(operations) over (partition by day)) as per_mille
from summed order by day, operations desc, protocol, operation_group
