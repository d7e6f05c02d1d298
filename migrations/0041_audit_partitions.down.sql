-- The entries are copied back to one table, if the trail still begins with the first: what was removed can't come back.
-- Nothing is written between the copy and the exchange.
lock table audit_entries in access exclusive mode;

do $$
begin
  if exists (select from audit_beginning where number > 0) then
    raise exception 'entries of the audit trail were removed: earlier releases take that for a broken trail';
  end if;
end $$;
delete from retention where kind = 'audit';
drop function remove_audit_entries;
drop function cut_audit_trail;
drop function protect_audit_partition;

create table audit_whole (like audit_entries including defaults including constraints);
alter table audit_whole alter number drop default;
insert into audit_whole select * from audit_entries;
create or replace view role_audit_entries with (security_barrier) as
select e.* from audit_whole e
where has_table_privilege('audit_whole'::regclass, 'select') or e.subject like 'plan:%' or e.action in ('plan.void', 'plan.unvoid');
create or replace view usage_closings as
select number, at, login, after, hash from audit_whole where action = 'usage.close';
drop function audit_canonical;
drop table audit_entries;
drop table audit_partitions;
drop table audit_beginning;
alter table audit_whole rename to audit_entries;
alter table audit_entries add primary key (number);
create index audit_entries_by_subject on audit_entries (subject, number);
create index audit_entries_by_tenant on audit_entries (tenant_id, at, number);
create index audit_entries_by_time on audit_entries (at, number);
create index audit_entries_by_login on audit_entries (login, at, number);
create index audit_entries_by_actor on audit_entries (claimed_actor, at, number);
create index audit_entries_by_action on audit_entries (action text_pattern_ops, at, number);

-- audit_canonical is the text whose SHA-256 is an entry's hash: its values as netstrings, LENGTH:VALUE, with the length in bytes
-- of UTF-8. It does not depend on the settings of the session. `petstorectl audit verify` does not call it.
create function audit_canonical(e audit_entries) returns text language sql stable as $$
  select string_agg(octet_length(convert_to(v, 'UTF8')) || ':' || v || ',', '' order by n)
  from unnest(array[
    'petstore-audit/1', e.number::text, encode(e.prev, 'hex'),
    to_char(e.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    e.login, coalesce(e.address, ''), e.claimed_actor, e.action, coalesce(e.tenant_id::text, ''), e.subject,
    coalesce(e.before::text, ''), coalesce(e.after::text, ''), e.reason
  ]) with ordinality as f (v, n)
$$;
do $$
begin
  execute format('alter function audit_canonical set search_path = %I, pg_temp', current_schema());
end $$;

create trigger audit_append before insert on audit_entries for each row execute function audit_append();
create trigger audit_refuse before update or delete or truncate on audit_entries
  for each statement execute function audit_refuse();
create trigger audit_refuse_row before update or delete on audit_entries for each row execute function audit_refuse();
alter table audit_entries enable always trigger audit_refuse;
alter table audit_entries enable always trigger audit_refuse_row;
grant select on audit_entries to petstore_support;
grant insert (claimed_actor, action, tenant_id, subject, before, after, reason) on audit_entries to petstore_support, petstore_billing;
grant select (number) on audit_entries to petstore_billing;
