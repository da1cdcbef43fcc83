-- Response time by operation, hour by hour, from the histograms: every operation counts, also where rows are a sample.
with bins as (
  select hour, protocol, operation, to_ns, sum(responses) as responses from histograms
  group by hour, protocol, operation, to_ns
), ranked as (
  select hour, protocol, operation, to_ns,
    sum(responses) over (partition by hour, protocol, operation order by to_ns
      rows between unbounded preceding and current row) as so_far,
    sum(responses) over (partition by hour, protocol, operation) as operations
  from bins
)
select hour, protocol, operation, operations,
  min(case when so_far * 100 >= operations * 50 then to_ns end) as p50_ns,
  min(case when so_far * 100 >= operations * 95 then to_ns end) as p95_ns,
  min(case when so_far * 100 >= operations * 99 then to_ns end) as p99_ns
from ranked group by hour, protocol, operation, operations
order by hour, protocol, operation
