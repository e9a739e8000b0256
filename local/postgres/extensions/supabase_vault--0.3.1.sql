-- Signatures and grants of the Vault 0.3 on hosted Supabase, without its encryption.
create table vault.secrets (
  id uuid primary key default gen_random_uuid(),
  name text,
  description text not null default '',
  secret text not null,
  key_id uuid,
  nonce bytea,
  created_at timestamptz not null default current_timestamp,
  updated_at timestamptz not null default current_timestamp
);
create unique index on vault.secrets (name) where name is not null;
create view vault.decrypted_secrets as
  select id, name, description, secret, secret as decrypted_secret, key_id, nonce, created_at, updated_at from vault.secrets;
create function vault.create_secret(new_secret text, new_name text default null, new_description text default '', new_key_id uuid default null)
returns uuid language sql set search_path = pg_temp
begin atomic
  insert into vault.secrets (secret, name, description) values (new_secret, new_name, new_description) returning id;
end;
revoke all on function vault.create_secret from public;
grant usage on schema vault to postgres with grant option;
grant select, insert, delete on vault.secrets, vault.decrypted_secrets to postgres with grant option;
grant execute on function vault.create_secret to postgres with grant option;
