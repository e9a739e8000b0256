-- Tables, signatures, policies and grants of pg_cron 1.6 on hosted Supabase. local/functions/scheduler.ts runs the jobs.
create schema cron;
create sequence cron.jobid_seq;
create table cron.job (
  jobid bigint primary key default nextval('cron.jobid_seq'),
  schedule text not null,
  command text not null,
  nodename text not null default 'localhost',
  nodeport integer not null default 5432,
  database text not null default current_database(),
  username text not null default current_user,
  active boolean not null default true,
  jobname text,
  constraint jobname_username_uniq unique (jobname, username)
);
create sequence cron.runid_seq;
create table cron.job_run_details (
  jobid bigint,
  runid bigint primary key default nextval('cron.runid_seq'),
  job_pid integer,
  database text,
  username text,
  command text,
  status text,
  return_message text,
  start_time timestamptz,
  end_time timestamptz
);
alter table cron.job enable row level security;
alter table cron.job_run_details enable row level security;
create policy cron_job_policy on cron.job using (username = current_user);
create policy cron_job_run_details_policy on cron.job_run_details using (username = current_user);

create function cron.schedule(job_name text, schedule text, command text) returns bigint
language plpgsql as $$
declare made bigint;
begin
  if not cron.is_schedule(schedule) then
    raise exception using errcode = '22023', message = 'invalid schedule: ' || schedule,
      hint = 'Use cron format (e.g. 5 4 * * *), or interval format ''[1-59] seconds''';
  end if;
  insert into cron.job (jobname, schedule, command, username) values (job_name, schedule, command, session_user)
  on conflict on constraint jobname_username_uniq do update set schedule = excluded.schedule, command = excluded.command
  returning jobid into made;
  return made;
end
$$;
create function cron.schedule(schedule text, command text) returns bigint
language sql return cron.schedule(null, schedule, command);
create function cron.unschedule(job_name text) returns boolean
language plpgsql as $$
begin
  delete from cron.job where jobname = job_name and username = session_user;
  if not found then raise exception using errcode = 'XX000', message = format('could not find valid entry for job ''%s''', job_name); end if;
  return true;
end
$$;
create function cron.unschedule(job_id bigint) returns boolean
language plpgsql as $$
begin
  delete from cron.job where jobid = job_id;
  if not found then raise exception using errcode = 'XX000', message = format('could not find valid entry for job %s', job_id); end if;
  return true;
end
$$;
create function cron.is_schedule(schedule text) returns boolean
language sql immutable
return schedule ~ '^([1-9]|[1-5][0-9]) seconds?$' or schedule ~ '^[-*/,0-9]+( +[-*/,$a-zA-Z0-9]+){4}$';

-- cron.schedule writes with the extension's rights in C; here its caller has them.
grant usage on schema cron to postgres with grant option;
grant all on cron.job_run_details, cron.job to postgres with grant option;
grant usage on all sequences in schema cron to postgres;
