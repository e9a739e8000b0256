-- The maintained totals of a list equal what the caller would count, for every caller and after every change.
begin;
set local search_path = public, extensions;
select plan(5);
do $$ begin perform tests.start(); end $$;

create temporary table askers (who text);
grant select on askers to public;
insert into askers values ('anon'), ('alice'), ('bob'), ('mia'), ('adam'), ('rita'), ('vera'), ('acme key'),
  ('acme key with submissions:read'), ('rival key with submissions:read');

-- Maintained and counted totals for every caller, organization and filter; returns a row for each difference.
create function pg_temp.differences() returns table (asker text, slug text, filter text, kept text, counted text) language plpgsql as $$
declare status text; type text; organization record; asker record;
begin
  for asker in select who from askers loop
    for organization in select o.id, o.slug from public.organizations o loop
      foreach status in array array[null, 'open', 'planned'] loop
        foreach type in array array[null, 'idea', 'problem'] loop
          differences.asker := asker.who;
          differences.slug := organization.slug;
          filter := concat_ws(' ', status, type);
          kept := tests.see(asker.who, format('select private.count_submissions(%L, %L, %L, null)', organization.id, status, type));
          counted := tests.see(asker.who, format(
            'select count(*) from public.submissions where organization_id = %L and merged_into_id is null and status = coalesce(%L, status) and type = coalesce(%L, type)',
            organization.id, status, type));
          if kept is distinct from counted and not (asker.who like '%key%' and asker.who not like organization.slug || ' key%') then
            return next;
          end if;
        end loop;
      end loop;
    end loop;
  end loop;
end
$$;

do $$
begin
  for n in 1..4 loop
    perform tests.submission('acme idea ' || n, 'alice');
    perform tests.submission('rival idea ' || n, 'bob', 'rival');
    perform tests.submission('vault idea ' || n, 'vera', 'vault');
  end loop;
  update public.submissions set moderation_state = 'pending' where title in ('acme idea 2', 'rival idea 1');
  insert into public.status_changes (submission_id, new_status) values (tests.id('acme idea 1'), 'planned'), (tests.id('rival idea 2'), 'planned');
  perform tests.merge('acme idea 3', 'acme idea 1');
  delete from public.submissions where id = tests.id('rival idea 4');
end $$;
select is_empty($$ select * from pg_temp.differences() $$, 'counters are correct after creation, moderation, status changes, merges and deletions');

update public.organizations set visibility = case visibility when 'public' then 'private' else 'public' end;
select is_empty($$ select * from pg_temp.differences() $$, 'counters are correct after every board changed its visibility');
select is((select count(*) from private.count_discrepancies()), 0::bigint, 'count_discrepancies finds none');

insert into public.categories (id, organization_id, name, slug) values (tests.id('ui'), tests.id('acme'), 'UI', 'ui');
update public.submissions set category_id = tests.id('ui') where title = 'acme idea 4';
select is(tests.see('mia', format('select private.count_submissions(%L, null, null, array[%L::uuid])', tests.id('acme'), tests.id('ui'))), '1',
  'counts can be filtered by category');
update private.submission_counts set total = total + 1 where category_id = tests.id('ui');
select is((select subject from private.count_discrepancies()), 'submission_counts', 'count_discrepancies finds a wrong counter');

select * from finish();
rollback;
