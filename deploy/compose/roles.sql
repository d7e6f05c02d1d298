-- Makes the roles and the database of docs/roles.md, as a superuser of Postgres, or sets their passwords again.
-- psql -v secrets=DIR reads DIR/NAME/password, which secrets.sh makes.
\set ON_ERROR_STOP on
\set file :secrets /owner/password
\set owner `cat :'file'`
\set file :secrets /server/password
\set server `cat :'file'`
\set file :secrets /staff/password
\set staff `cat :'file'`

select format('create role %I nologin', name)
from unnest(array['petstore_api', 'petstore_support', 'petstore_billing']) name
where not exists (select from pg_roles where rolname = name) \gexec

select format('create role %I login in role %I', name, of)
from (values ('petstore_owner', 'petstore_api'), ('petstore_server', 'petstore_api'), ('petstore_staff', 'petstore_support')) as logins (name, of)
where not exists (select from pg_roles where rolname = name) \gexec

grant pg_read_all_stats to petstore_owner;
alter role petstore_owner password :'owner';
alter role petstore_server password :'server';
alter role petstore_staff password :'staff';

select 'create database petstore owner petstore_owner' where not exists (select from pg_database where datname = 'petstore') \gexec
