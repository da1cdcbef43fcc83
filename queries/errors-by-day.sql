-- How many operations were refused or failed, day by day?
select day, protocol, operation, sum(operations) as operations, sum(errors) as errors, sum(unanswered) as unanswered
from intervals group by day, protocol, operation
having sum(errors) + sum(unanswered) > 0
order by day, errors desc, protocol, operation
