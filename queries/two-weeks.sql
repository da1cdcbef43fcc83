-- Is the second week slower than the first? Percentiles come from the sums of the histograms' bins, and are at most 0.1 % too high.
with bins as (
  select week, protocol, operation, to_ns, sum(responses) as responses from histograms
  group by week, protocol, operation, to_ns
), ranked as (
  select week, protocol, operation, to_ns,
    sum(responses) over (partition by week, protocol, operation order by to_ns
      rows between unbounded preceding and current row) as so_far,
    sum(responses) over (partition by week, protocol, operation) as operations
  from bins
), weeks as (
  select week, protocol, operation, operations,
    min(case when so_far * 100 >= operations * 50 then to_ns end) as p50_ns,
    min(case when so_far * 100 >= operations * 99 then to_ns end) as p99_ns
  from ranked group by week, protocol, operation, operations
), days as (
  select min(week) as first_week, max(week) as last_week from weeks
)
select a.protocol, a.operation, a.operations as operations_before, b.operations as operations_after,
  a.p50_ns as p50_before_ns, b.p50_ns as p50_after_ns, a.p99_ns as p99_before_ns, b.p99_ns as p99_after_ns
from days join weeks a on a.week = days.first_week
  join weeks b on b.week = days.last_week and a.protocol = b.protocol and a.operation = b.operation
order by b.p99_ns - a.p99_ns desc, a.protocol, a.operation
