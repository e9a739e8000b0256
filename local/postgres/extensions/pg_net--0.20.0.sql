-- The queue and signatures of pg_net 0.20 on hosted Supabase. local/functions/calls.ts makes the calls.
create schema net;
create unlogged table net.http_request_queue (
  id bigserial,
  method text not null,
  url text not null,
  headers jsonb,
  body bytea,
  timeout_milliseconds integer not null
);
create unlogged table net._http_response (
  id bigint,
  status_code integer,
  content_type text,
  headers jsonb,
  content text,
  timed_out boolean,
  error_msg text,
  created timestamptz not null default now()
);
create function net.http_post(
  url text, body jsonb default '{}', params jsonb default '{}', headers jsonb default '{"Content-Type": "application/json"}',
  timeout_milliseconds integer default 5000) returns bigint
language plpgsql as $$
declare request_id bigint;
begin
  insert into net.http_request_queue (method, url, headers, body, timeout_milliseconds)
  values ('POST', url, headers, convert_to(body::text, 'UTF8'), timeout_milliseconds) returning id into request_id;
  return request_id;
end
$$;
grant usage on schema net to postgres, anon, authenticated, service_role;
grant all on all tables in schema net to postgres;
grant all on all sequences in schema net to postgres;
