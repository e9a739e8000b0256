-- A category or tag with more submissions than one batch is deleted completely, without its submissions.
begin;
set local search_path = public, extensions;
select plan(24);
do $$ begin perform tests.start(); end $$;

create function pg_temp.label(kind text, name text) returns uuid language plpgsql as $$
begin
  execute format('insert into public.%I (id, organization_id, name, slug) values ($1, $2, $3, $3)', kind) using tests.id(name), tests.id('acme'), name;
  return tests.id(name);
end
$$;
create function pg_temp.mistakes() returns text language sql as $$
  select coalesce(string_agg(subject || ' ' || stored || ' for ' || truth, ', '), 'none') from private.count_discrepancies() $$;
create function pg_temp.filed() returns text language sql as $$
  select string_agg(coalesce(c.slug, '–') || ' ' || n, ', ' order by c.slug nulls last)
  from (select category_id, count(*) as n from public.submissions where organization_id = tests.id('acme') group by 1) s left join public.categories c on c.id = s.category_id $$;
create function pg_temp.tagged() returns text language sql as $$
  select string_agg(t.slug || ' ' || n, ', ' order by t.slug)
  from (select tag_id, count(*) as n from public.submission_tags where organization_id = tests.id('acme') group by 1) s join public.tags t on t.id = s.tag_id $$;
create function pg_temp.events() returns text language sql as $$
  select string_agg(type || ' ' || n, ', ' order by type) from (select type, count(*) as n from private.outbox where organization_id = tests.id('acme') group by 1) e $$;
create function pg_temp.as_adam(call text) returns text language plpgsql as $$
begin
  perform set_config('feedback.organization_id', tests.id('acme')::text, true);
  return tests.see('adam', call);
end
$$;

select pg_temp.label('categories', name) from unnest(array['billing', 'invoices', 'paying']) name;
select pg_temp.label('tags', name) from unnest(array['quick', 'fast', 'slow']) name;
select tests.submission('wish ' || n, 'alice') from generate_series(1, 6) n;
update public.submissions set category_id = tests.id('billing') where id in (select tests.id('wish ' || n) from generate_series(1, 5) n);
update public.submissions set category_id = tests.id('invoices') where id = tests.id('wish 6');
insert into public.submission_tags (organization_id, submission_id, tag_id) select tests.id('acme'), tests.id('wish ' || n), tests.id('quick') from generate_series(1, 5) n;
insert into public.submission_tags (organization_id, submission_id, tag_id) values (tests.id('acme'), tests.id('wish 2'), tests.id('fast'));
select tests.merge('wish 5', 'wish 4');
delete from private.outbox;

-- State after a large merge: a batch of two was moved, the rest is pending
select is(private.retire_label('categories', tests.id('acme'), tests.id('billing'), tests.id('invoices'), 2), 2, 'retire_label moves one batch');
select is(pg_temp.filed(), 'billing 3, invoices 3', 'the rest keeps the old category');
select is(pg_temp.mistakes(), 'none', 'all counters are correct');
select is(pg_temp.events(), null, 'no event is created for each submission');
select is(pg_temp.as_adam(format('select private.admin_merge_labels(''categories'', %L, %L)', tests.id('paying'), tests.id('billing'))), 'FB409', 'a retired category cannot be a merge target');
insert into public.categories (id, organization_id, name, slug) values (tests.id('money'), tests.id('acme'), 'money', 'money');
select is(pg_temp.as_adam(format('select private.admin_merge_labels(''categories'', %L, %L) ->> ''moved''', tests.id('invoices'), tests.id('money'))), '3', 'the target may be merged meanwhile');
select tests.submission('wish 7', 'bob');
update public.submissions set category_id = tests.id('billing') where id = tests.id('wish 7');
delete from private.outbox;
select is(private.run_retirements(), 4, 'the schedule moves the rest and later submissions');
select is(pg_temp.filed(), 'money 7', 'they get the final target');
select is((select count(*) from public.categories where id = tests.id('billing')), 0::bigint, 'the old category is deleted');
select is(pg_temp.events(), 'org.updated 1', 'one event is created');
select is(private.run_retirements(), 0, 'a further run does nothing');
select is(pg_temp.mistakes(), 'none', 'all counters are correct after the retirement');

select is(private.retire_label('tags', tests.id('acme'), tests.id('quick'), tests.id('fast'), 2), 2, 'tags are moved in batches');
do $$ begin perform private.run_retirements(); end $$;
select is(pg_temp.tagged(), 'fast 4', 'submissions that have both tags are included');
do $$ begin perform set_config('request.jwt.claims', jsonb_build_object('sub', tests.id('adam'), 'role', 'authenticated')::text, true);
  perform set_config('feedback.organization_id', tests.id('acme')::text, true);
  perform private.admin_unmerge(tests.id('wish 5')); perform tests.leave(); end $$;
select is(pg_temp.tagged(), 'fast 5', 'submissions restored by an unmerge are included');
select is(private.retire_label('tags', tests.id('acme'), tests.id('fast'), null, 2), 2, 'deleting a tag removes it in batches');
select is(private.run_retirements(), 3, 'further runs remove the rest');
select is(pg_temp.tagged(), null, 'no submission has the tag');

-- A tag copied by a merge is restored as the merged tag, also if the source already has it
create function pg_temp.tags_of(submission text) returns text language sql as $$
  select string_agg(t.slug, ' ' order by t.slug) from public.submission_tags s join public.tags t on t.id = s.tag_id where s.submission_id = tests.id(submission) $$;
create function pg_temp.lend_and_retag(from_tag text, to_tag text) returns text language plpgsql as $$
declare found text;
begin
  perform tests.merge('source', 'target');
  perform private.retire_label('tags', tests.id('acme'), tests.id(from_tag), tests.id(to_tag));
  perform set_config('request.jwt.claims', jsonb_build_object('sub', tests.id('adam'), 'role', 'authenticated')::text, true);
  perform private.admin_unmerge(tests.id('source')); perform tests.leave();
  raise exception using errcode = 'ZZ000', message = format('source %s, target %s, mistakes %s', pg_temp.tags_of('source'), pg_temp.tags_of('target'), pg_temp.mistakes());
exception when sqlstate 'ZZ000' then return sqlerrm;
end
$$;
select pg_temp.label('tags', name) from unnest(array['blue', 'azure']) name;
select tests.submission('source', 'alice'); select tests.submission('target', 'bob'); select tests.submission('second source', 'bob');
insert into public.submission_tags (organization_id, submission_id, tag_id) values
  (tests.id('acme'), tests.id('source'), tests.id('blue')), (tests.id('acme'), tests.id('target'), tests.id('azure'));
select is(pg_temp.lend_and_retag('blue', 'azure'), 'source azure, target azure, mistakes none', 'a target that has the tag already gets it once');
select is(pg_temp.lend_and_retag('azure', 'blue'), 'source blue, target blue, mistakes none', 'the target''s own tag is replaced by the one from the source');
update public.submission_tags set submission_id = tests.id('second source') where submission_id = tests.id('target');
do $$ begin perform tests.merge('second source', 'target'); end $$;
select is(pg_temp.lend_and_retag('blue', 'azure'), 'source azure, target azure, mistakes none', 'the same with the tag from another source');
select is(pg_temp.lend_and_retag('azure', 'blue'), 'source blue, target blue, mistakes none', 'the same in the other direction');

select is(private.retire_label('categories', tests.id('acme'), tests.id('money'), tests.id('paying'), 2), 2, 'retiring a category moves one batch');
delete from public.organizations where slug = 'acme';
select is((select count(*) from private.retired_labels), 0::bigint, 'deleting the organization deletes its retirements');

select * from finish();
rollback;
