lock table tenants in share row exclusive mode;
-- begin_mailbox makes a changed address begin anew: what waits for the former one is dropped, answers may quote it, and the new one is asked to confirm.
create function begin_mailbox() returns trigger language plpgsql security definer as $$
begin
  delete from mailboxes x where x.tenant_id = new.id;
  update mails m set said = case when m.done_at is null then 'the address was changed' end, done_at = coalesce(m.done_at, now()),
    result = coalesce(m.result, 'dropped') where m.tenant_id = new.id and (m.done_at is null or m.said is not null);
  if new.email is not null then
    insert into mailboxes (tenant_id) values (new.id);
    insert into mails (tenant_id, kind) values (new.id, 'confirm');
  end if;
  return null;
end $$;
create trigger tenants_mailbox after insert on tenants for each row when (new.email is not null) execute function begin_mailbox();
create trigger tenants_mailbox_changed after update of email on tenants for each row when (old.email is distinct from new.email)
  execute function begin_mailbox();

-- ask_mailbox asks the address of a tenant to confirm, also one from before there was mail: at most 3 times in 30 days. It writes the audit
-- entry, and returns false if the mail waits already.
create function ask_mailbox(tenant bigint, actor text, reason text) returns boolean language plpgsql security definer as $$
declare
  x mailboxes;
begin
  insert into mailboxes (tenant_id) select t.id from tenants t where t.id = tenant and t.email is not null on conflict do nothing;
  select o.* into x from mailboxes o where o.tenant_id = tenant for no key update;
  if x.tenant_id is null then
    perform refuse_notices('mail_none');
  elsif x.state = 'confirmed' then
    perform refuse_notices('mail_confirmed');
  elsif exists (select from mails m where m.tenant_id = tenant and m.kind = 'confirm' and m.done_at is null) then
    return false;
  elsif (select count(*) from mails m where m.tenant_id = tenant and m.kind = 'confirm' and m.result <> 'dropped'
      and m.created_at >= greatest(x.set_at, now() - interval '30 days')) >= 3 then
    perform refuse_notices('mail_asked');
  end if;
  insert into mails (tenant_id, kind) values (tenant, 'confirm');
  insert into audit_entries (claimed_actor, action, tenant_id, subject, reason) values ($2, 'tenant.ask', tenant, 'tenant:' || tenant, $3);
  return true;
end $$;

-- answer_mail stores what the owner of an address has answered, confirmed or unsubscribed, with its audit entry. It returns false unless the tenant has
-- the address with that SHA-256.
create function answer_mail(tenant bigint, address bytea, answer text) returns boolean language plpgsql security definer as $$
declare
  was text;
begin
  select x.state into was from mailboxes x join tenants t on t.id = x.tenant_id
  where x.tenant_id = tenant and sha256(convert_to(t.email, 'UTF8')) = address for no key update of x;
  if was <> answer then
    update mailboxes x set state = answer, confirmed_at = case answer when 'confirmed' then now() else x.confirmed_at end where x.tenant_id = tenant;
    insert into audit_entries (claimed_actor, action, tenant_id, subject, before, after) values ('mail',
      case answer when 'confirmed' then 'tenant.confirm' else 'tenant.unsubscribe' end, tenant, 'tenant:' || tenant,
      jsonb_build_object('state', was), jsonb_build_object('state', answer));
  end if;
  return was is not null;
end $$;

-- invite_by_mail is invite_tenant for a link that the server makes when it sends it, to an address that was confirmed.
create function invite_by_mail(tenant bigint, env text, actor text, reason text) returns void language plpgsql security definer as $$
begin
  perform from mailboxes x where x.tenant_id = tenant and x.state in ('confirmed', 'unsubscribed') and x.confirmed_at is not null;
  if not found then
    perform refuse_notices('mail_unconfirmed');
  end if;
  insert into mails (tenant_id, kind, environment, invited_by) values (tenant, 'invite', env, session_user);
  insert into audit_entries (claimed_actor, action, tenant_id, subject, after, reason)
  values (actor, 'tenant.invite', tenant, 'tenant:' || tenant, '{"mail": true}', reason);
end $$;

-- own_mailbox returns the address of the tenant whose manage key or sign-in has the digest, its state, and the last mails about events. A tenant
-- without an address has no row.
create function own_mailbox(asker bytea, most integer) returns table (address text, state text, mails jsonb) language plpgsql stable security definer as $$
declare
  a record;
begin
  select * into a from asker_of(asker);
  if not a.manages then
    perform refuse_key_change('scope');
  end if;
  return query select t.email, coalesce(x.state, 'unasked'), (
      select coalesce(jsonb_agg(jsonb_build_object('event', m.event_id, 'type', m.kind, 'at', m.created_at, 'status', coalesce(m.result, 'waiting'))), '[]')
      from (select * from mails o where o.tenant_id = a.tenant_id and o.event_id is not null order by o.created_at desc limit most) m)
    from tenants t left join mailboxes x on x.tenant_id = t.id where t.id = a.tenant_id and t.email is not null;
end $$;

-- claim_mails leases up to most mails for 5 minutes, one of a tenant, so that its mails of the day can be counted: 20 about events, and one that says so.
-- Of bans one mail an hour is sent. What may not be sent is dropped.
create function claim_mails(most integer) returns table (id uuid, kind text, tenant_id bigint, tenant text, address text, type text, body text)
language plpgsql security definer as $$
declare
  x record;
  m mails;
  n integer;
begin
  if hold_restored() then
    return;
  end if;
  for x in select o.tenant_id, o.state, t.name, t.email, t.suspended_at from mailboxes o join tenants t on t.id = o.tenant_id
    where o.leased_until <= now() and exists (select from mails w where w.tenant_id = o.tenant_id and w.done_at is null and w.due_at <= now())
    order by o.leased_until limit most for no key update of o skip locked
  loop
    select count(*) into n from mails o
    where o.tenant_id = x.tenant_id and o.event_id is not null and o.result = 'sent' and o.done_at >= date_trunc('day', now(), 'UTC');
    for m in select w.* from mails w where w.tenant_id = x.tenant_id and w.done_at is null and w.due_at <= now() order by w.due_at, w.created_at loop
      m.said := case when m.created_at < now() - interval '1 day' then 'over a day late'
        when m.kind = 'invite' and (x.suspended_at is not null or x.state not in ('confirmed', 'unsubscribed')) or m.event_id is not null and x.state <> 'confirmed'
          then 'the address is ' || x.state
        when m.event_id is not null and n > 20 then 'more than 20 in a day'
        when m.kind = 'key.banned' and exists (select from mails o where o.tenant_id = x.tenant_id and o.kind = m.kind and o.result = 'sent'
          and o.created_at > m.created_at - interval '1 hour') then 'one ban in an hour' end;
      if m.said is null then
        m.kind := case when m.event_id is not null and n = 20 then 'limit' else m.kind end;
        update mailboxes o set leased_until = now() + interval '5 minutes' where o.tenant_id = x.tenant_id;
        update mails w set kind = m.kind, due_at = now() + interval '5 minutes' where w.id = m.id;
        return query select m.id, m.kind, x.tenant_id, x.name, x.email, v.type, v.body from (select) o left join events v on v.id = m.event_id;
        exit;
      end if;
      update mails w set done_at = now(), result = 'dropped', said = m.said where w.id = m.id;
    end loop;
  end loop;
end $$;

-- invite_mailed stores the link of an invitation that is being sent, in place of that of an attempt before, and returns its end: null if it is not sent.
create function invite_mailed(mail uuid, digest bytea) returns timestamptz language plpgsql security definer as $$
declare
  m       mails;
  ends_at timestamptz;
begin
  select o.* into m from mails o where o.id = mail and o.kind = 'invite' and o.done_at is null and o.due_at > now() for update;
  if not found then
    return null;
  end if;
  delete from invites i where i.digest = m.link;
  insert into invites (digest, tenant_id, environment, invited_by) values (invite_mailed.digest, m.tenant_id, m.environment, m.invited_by)
  returning expires_at into ends_at;
  update mails o set link = invite_mailed.digest where o.id = mail;
  return ends_at;
end $$;

-- finish_mail stores what came of a mail: sent, refused, which marks the address, failed, later, which tries again, or relay, which is no attempt.
create function finish_mail(mail uuid, outcome text, answer text) returns void language plpgsql security definer as $$
begin
  update mailboxes x set leased_until = now(), state = case outcome when 'refused' then outcome else x.state end
  from mails m where m.id = mail and m.done_at is null and x.tenant_id = m.tenant_id;
  update mails m set said = nullif(answer, ''), attempts = m.attempts + (outcome <> 'relay')::int,
    done_at = case when outcome in ('sent', 'refused', 'failed') then now() end, result = case when outcome in ('sent', 'refused', 'failed') then outcome end,
    due_at = case outcome when 'relay' then now() else now() + least(interval '5 minutes' * 2 ^ m.attempts, interval '2 hours') end
  where m.id = mail and m.done_at is null;
end $$;

-- mail_state is what doctor says: servers, those that send mail, what a relay says that fails, confirmed addresses, and mails that wait, and that were
-- dropped because they were late within a week.
create function mail_state(out servers bigint, out senders bigint, out relay text, out confirmed bigint, out waiting bigint, out late bigint)
language sql stable security definer as $$
  select count(*), count(s.mail), max(nullif(s.mail, '')), (select count(*) from mailboxes x where x.state = 'confirmed'),
    (select count(*) from mails m where m.done_at is null), (select count(*) from mails m where m.said = 'over a day late' and m.done_at > now() - interval '7 days')
  from outbox_servers s where s.seen_at > now() - interval '1 minute'
$$;

do $$
begin
  execute (select string_agg(format('alter function %s set search_path = pg_catalog, %I, pg_temp', p.oid::regprocedure, current_schema()), ';')
    from pg_proc p where p.prosecdef and p.proconfig is null and p.pronamespace = current_schema()::regnamespace);
end $$;
grant execute on function answer_mail, own_mailbox, claim_mails, invite_mailed, finish_mail to petstore_api;
grant execute on function ask_mailbox, invite_by_mail, mail_state to petstore_support;
grant select on mailboxes to petstore_support;
grant select (id, tenant_id, kind, event_id, created_at, attempts, due_at, done_at, result, said) on mails to petstore_support;
