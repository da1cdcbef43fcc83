-- For which files did clients wait longest?
select server, share, path, count(*) as operations, sum(wait_ns) as waited_ns, max(response_ns) as max_ns
from transactions where path is not null and response_ns is not null
group by server, share, path
order by waited_ns desc, server, share, path limit 20
