-- How long did each client wait, hour by hour?
with ranked as (
  select hour, client, response_ns, wait_ns,
    row_number() over (partition by hour, client order by response_ns) as place,
    count(*) over (partition by hour, client) as operations
  from transactions where response_ns is not null
)
select hour, client, operations,
  min(case when place * 100 >= operations * 50 then response_ns end) as p50_ns,
  min(case when place * 100 >= operations * 99 then response_ns end) as p99_ns,
  max(response_ns) as max_ns,
  sum(wait_ns) as waited_ns
from ranked group by hour, client, operations
order by waited_ns desc, hour, client
