drop function lock_cluster(boolean);
drop function renew_server(text, text, bigint, integer, bigint, timestamptz);
drop function read_cluster();
drop type cluster_state;
drop function database_name();

-- As in 0014.
create or replace function check_term() returns trigger language plpgsql as $$
begin
  if new.number not in (old.number, old.number + 1)
     or old.unclean_until is not null and new.unclean_until is null
     or new.unclean_until < old.unclean_until
     or new.unclean_until is distinct from old.unclean_until and new.unclean_until > clock_timestamp() + interval '1 minute' then
    raise exception 'terms follow each other, and the time of an unclean end only grows' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;

alter table cluster_term drop column first, drop column set_back, drop column not_before, drop column folded_until, drop column origin;
alter table servers drop column lease, drop column sequence;
