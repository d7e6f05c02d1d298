-- A customer's write that was answered with 503 must not happen later: its bytes may arrive late, or wait for a lock. So each such
-- statement sets petstore.deadline, in Unix seconds by the clock of this database, for its transaction, and the transaction is refused if
-- it is to be committed later. Nothing that a statement says of itself does that: a condition is evaluated before a lock is waited for,
-- statement_timeout ends with the statement, and COMMIT has no condition. Writes without a deadline, those of staff, are not refused.
create function refuse_late_write() returns trigger
language plpgsql as $$
begin
  if date_part('epoch', clock_timestamp()) >= nullif(current_setting('petstore.deadline', true), '')::float8 then
    raise exception 'the write came too late' using errcode = 'query_canceled';
  end if;
  return null;
end $$;

-- A transaction is checked once for each row that fires it. The API sets the deadline with the last of the rows that it inserts with one
-- statement, so the condition lets that row alone fire it. The condition costs more than the check, so updates of one row have none.
create constraint trigger pets_refuse_late_insert after insert on pets deferrable initially deferred
  for each row when (current_setting('petstore.deadline', true) <> '') execute function refuse_late_write();
create constraint trigger pets_refuse_late_update after update on pets deferrable initially deferred
  for each row execute function refuse_late_write();

-- An order is placed with an update of its animal. Its answer to an idempotency key is stored with either.
create constraint trigger orders_refuse_late_update after update on orders deferrable initially deferred
  for each row execute function refuse_late_write();
