-- Search in any language, limited to visible submissions.
begin;
set local search_path = public, extensions;
select plan(245);
do $$ begin
  perform tests.start();
  insert into submissions (id, organization_id, author_id, title, description, type)
  select tests.id(name), tests.id(board), tests.id('alice'), title, description, 'idea' from (values
    ('cafe', 'acme', 'Crème brûlée at the Café', 'Serve it on Fridays, with a naïve garnish.'),
    ('export', 'acme', 'Export invoices to PDF', 'Accountants want a portable document of each invoice.'),
    ('invoice', 'acme', 'A better editor', 'When I write an invoice the editor loses my cursor.'),
    ('dark', 'acme', 'ダークモードが欲しい', '夜に画面が明るすぎるので、暗いテーマを選べるようにしてほしいです。'),
    ('percent', 'acme', 'Show 100% of the width', 'The file C:\temp\new and the name snake_case are cut.'),
    ('width', 'acme', 'Show 1000 rows at once', 'The file and the name snakeXcase are cut as well.'),
    ('html', 'acme', 'Allow <b>bold</b> & "quotes"', 'A <script>alert(''invoice'')</script> must stay text, it''s only fair.'),
    ('quote', 'acme', 'O''Brien''s name breaks it', 'Names such as d''Artagnan lose what follows the apostrophe.'),
    ('rival', 'rival', 'Export invoices elsewhere', 'Another organization wants its invoices exported too.')) as t (name, board, title, description);
end $$;

-- Matches, best first, by the names above
create function pg_temp.search(q text, board text default 'acme', wanted integer default 100)
  returns table (name text, class integer, match text, did_you_mean text, marks text, n bigint) language sql as $$
  select name, h.class, f.match, f.did_you_mean, f.marks, h.n
  from private.find_submissions(tests.id(board), q, null, null, null, null, null, null, wanted) f
    left join lateral unnest(f.hits) with ordinality h (submission_id, class, votes, relevance, n) on true
    left join unnest(array['cafe', 'export', 'invoice', 'dark', 'percent', 'width', 'html', 'quote', 'rival']) as name
      on tests.id(name) = h.submission_id
$$;
create function pg_temp.found(q text, board text default 'acme') returns text language sql as $$
  select string_agg(name, ', ' order by name) from pg_temp.search(q, board) where match = 'all'
$$;
select is(pg_temp.found(q), found, format('%s finds %s', q, coalesce(found, 'nothing'))) from (values
  ('café', 'cafe'), ('cafe', 'cafe'), ('CAFÉ', 'cafe'), ('creme brulee', 'cafe'), (E'cre\u0300me', 'cafe'), ('naive', 'cafe'),
  ('inv', 'export, html, invoice'), ('export inv', 'export'), ('"portable document"', 'export'), ('"document portable"', null),
  ('invoice -editor', 'export, html'), ('cursor or accountants', 'export, invoice'),
  ('ダーク', 'dark'), ('モード', 'dark'), ('暗いテーマ', 'dark'), ('猫', null),
  ('100%', 'percent, width'), ('%', null), ('snake_case', 'percent'), ('C:\temp', 'percent'), ('\', null),
  ('O''Brien', 'quote'), ('d''Artagnan', 'quote'), ('it''s', 'cafe, html, quote'), ('''', null), ('<script>', 'html'),
  ('nowhere to be found', null), ('invoice & (', 'export, html, invoice'), ('!!! :* <->', null),
  ('exporting invoices', 'export'), ('the invoices of accountants', 'export'), ('BRULEES', 'cafe'),
  ('ﾀﾞｰｸ ﾓｰﾄﾞ', 'dark'), ('暗い　夜', 'dark'), ('ＰＤＦ', 'export'), (E'in\u00ADvoices to p\u200Bdf', 'export'),
  ('-invoice -100 -name', 'cafe, dark'), ('snakecase', 'percent'), ('temp new', 'percent')) as t (q, found);
select is(pg_temp.found('export', 'rival'), 'rival', 'a search returns no rows of another organization');
select is((select array_agg(name || ' ' || class order by n) from pg_temp.search(q)), found, format('%s comes in the order of classes', q)) from (values
  ('"export invoices"', array['export 2']), ('export invoices', array['export 1']), ('invoices export', array['export 2']),
  ('exported invoice', array['export 3']), ('exp inv', array['export 4']), ('editor invoice', array['invoice 5']),
  ('invoices -alert', array['export 2', 'invoice 6']), ('acc', array['export 7'])) as t (q, found);
select is((select array_agg(name order by n) from pg_temp.search(q) where match = 'any'), found, format('%s finds what has the rarest and most of the words', q)) from (values
  ('editor bananas', array['invoice']), ('accountants portable bananas', array['export']),
  ('acountants', array['export']), ('countants', array['export'])) as t (q, found);
select is((select max(did_you_mean) from pg_temp.search(q)), meant, format('%s suggests %s', q, meant)) from (values
  ('acountants', 'accountants'), ('the acountants', 'the accountants'), ('acountants unacountants', 'accountants accountants'), ('countants', null), ('invoices', null)) as t (q, meant);
select lives_ok(format('select count(*) from pg_temp.search(%L)', q), format('%s is searched for without an error', left(q, 20)))
from unnest(array['', ' ', '''''', '\\', '"', '"unclosed', '- - -', 'or', ':*', E'\u0001', '😀', repeat('x', 5000), repeat('a ', 2000), '%_%_\%']) as q;

-- Characters that become punctuation when accents are removed, or many characters in NFKC
do $$ begin
  perform tests.submission('Odd characters of an attacker', 'bob');
  update submissions set description = U&'invoi\2216\2986ce zzqui\2985ckly \FF07 \02D0 \2223 \2117 ' || repeat(U&'\FDFA', 2000)
      || ' ' || (select string_agg(chr(13056 + n % 88), '') from generate_series(1, 2000) n)
    where id = tests.id('Odd characters of an attacker');
end $$;
select lives_ok(format('select private.highlight(%L, marks, false) from pg_temp.search(%L)', title, q),
    format('%s is searched for without an error', left(q, 20)))
from unnest(array['invoise', 'invoicce', 'zzzz invoi', 'zzquickli', 'invoice zzquikly', U&'\2216x export', U&'\2985 or export', U&'\2216\2986',
    U&'"\2216\2986"', U&'export \2216\2223\2223', U&'\2216\2223foreign\2223x', repeat(U&'\FDFA', 200),
    (select string_agg(chr(13056 + n % 88), '') from generate_series(1, 200) n)]) as q,
  unnest(array['Invoice (a|b) [c] *', U&'invoi\2216\2986ce']) as title;
select lives_ok(format('select count(*) from private.similar_submissions(tests.id(''acme''), %L, %L)', title, title), format('%s is compared without an error', left(title, 20)))
from unnest(array['invoicd problem', U&'wish \2216\2986', repeat(U&'\FDFA', 200)]) as title;
select lives_ok('select private.refresh_search() from generate_series(1, 20)', 'the schedule counts such words too');
select is_empty($$ select from private.search_words where word ~ '[[:punct:]]' $$, 'no known word has punctuation');
select matches((private.parse_search(tests.id('acme'), U&'\2216\2223foreign\2223x'::text)).text_any::text,
  '^[^'']*(''' || left(tests.id('acme')::text, 8) || '[^'']*''[^'']*)*$', 'each lexeme of a query has the prefix of its organization');
do $$ begin delete from submissions where id = tests.id('Odd characters of an attacker'); end $$;

-- Deleting
delete from submissions where id = tests.id('dark');
select is_empty($$ select from private.submission_search where submission_id = tests.id('dark') $$, 'deleting a submission deletes its search row');

-- Invisible submissions are not found
do $$ begin update submissions set moderation_state = 'pending' where id = tests.id('export'); end $$;
select is(tests.see(who, $$ select string_agg(s.title, ', ')
from private.find_submissions(tests.id('acme'), 'export', null, null, null, null, null, null, 10) f
  cross join unnest(f.hits) h join submissions s on s.id = h.submission_id $$), found, claim)
from (values
  ('anon', null, 'an anonymous user does not find a pending submission'),
  ('bob', null, 'another user does not find it'),
  ('alice', 'Export invoices to PDF', 'its author finds it'),
  ('mia', 'Export invoices to PDF', 'and by the team'),
  ('acme key', null, 'not by a key without submissions:read'),
  ('acme key with submissions:read', 'Export invoices to PDF', 'but by one with it')) as t (who, found, claim);
select is(tests.see(who, 'select content from private.submission_search limit 1'), '42501', format('%s does not read the index itself', who))
from unnest(array['anon', 'adam', 'service_role', 'acme key with submissions:read']) as who;
do $$ begin update submissions set moderation_state = 'approved' where id = tests.id('export'); end $$;

-- The data API
select is(tests.see(who, format('select string_agg(title, %L) from search_submissions(%L, tests.id(%L), 10)', ', ', q, board)), found, claim) from (values
  ('anon', 'invoices export', 'acme', 'Export invoices to PDF', 'anybody searches a public board'),
  ('anon', 'zzz', 'acme', null, 'and finds nothing of words that nothing has'),
  ('bob', 'export', 'vault', null, 'nobody searches a board that they cannot see')) as t (who, q, board, found, claim);
select throws_ok(format('select * from search_submissions(%L, tests.id(%L), %s)', q, 'acme', n), 'FB400', null, claim) from (values
  ('', 10, 'an empty query is refused'), (repeat('x', 201), 10, 'a long one too'), ('x', 101, 'and too many results')) as t (q, n, claim);

-- Highlights
select is(private.highlight(value, (private.parse_search(tests.id('acme'), q)).marks, whole), marked, claim) from (values
  ('Export invoices to PDF', 'export', true, '<mark>Export</mark> invoices to PDF', 'a word is marked'),
  ('Export invoices to PDF', 'inv', true, 'Export <mark>invoices</mark> to PDF', 'so is one that begins so'),
  ('Crème at the Café', 'cafe', true, 'Crème at the <mark>Café</mark>', 'accents or not'),
  ('ダークモードが欲しい', 'モード', true, 'ダーク<mark>モード</mark>が欲しい', 'and a part of Japanese text'),
  ('Show 100% of it', '100%', true, 'Show <mark>100</mark>% of it', 'a character that belongs to no word is not marked'),
  ('Nothing of it', 'export', true, 'Nothing of it', 'without a match nothing is marked'),
  ('Allow <b>bold</b> & "quotes"', 'bold', true, 'Allow &lt;b&gt;<mark>bold</mark>&lt;/b&gt; &amp; &quot;quotes&quot;', 'everything else is escaped'),
  ('<mark>x</mark> <img src=x onerror=alert(1)>', 'onerror', true,
    '&lt;mark&gt;x&lt;/mark&gt; &lt;img src=x <mark>onerror</mark>=alert(1)&gt;', 'a <mark> in the text is escaped'),
  ('Crème <i>x</i>', '</', true, 'Crème &lt;i&gt;x&lt;/i&gt;', 'punctuation is not marked'),
  ('It''s', 's', true, 'It&#39;<mark>s</mark>', 'an apostrophe is escaped')) as t (value, q, whole, marked, claim);
select doesnt_match(regexp_replace(private.highlight(value, (private.parse_search(tests.id('acme'), q)).marks, whole), '</?mark>|&(lt|gt|amp|quot|#39);', '', 'g'), '[<>&"'']',
  format('nothing unsafe is left of %s for %s', left(value, 20), q))
from unnest(array['<script>alert(''a & b'')</script> lt gt amp quot 39', '"><svg/onload=alert(1)>', '&lt;b&gt; &amp;amp; <!-- x --> ]]>',
    repeat('<a href="javascript:alert(1)">x</a> ', 100)]) as value,
  unnest(array['alert', '<', '&', 'lt', 'amp', 'quot', '39', 'x', 'mark', '"', '''']) as q, unnest(array[true, false]) as whole;
select ok(char_length(private.highlight(repeat('word ', 400) || 'needle ' || repeat('word ', 400), 'needle', false)) < 400,
  'the highlight of a long text is an excerpt around the match');
select ok(char_length(private.highlight(repeat('あ', 2000) || '針' || repeat('い', 2000), '針', false)) between 100 and 300, 'the highlight of a long Japanese text is an excerpt');

-- Duplicates
create function pg_temp.similar(title text, description text default null) returns text language sql as $$
  select string_agg(name, ', ' order by similarity desc)
  from private.similar_submissions(tests.id('acme'), title, description) join unnest(array['cafe', 'export', 'invoice', 'percent', 'width', 'html', 'quote', 'rival']) as name
    on tests.id(name) = submission_id where similarity >= 0.4
$$;
select is(pg_temp.similar(title), similar_to, claim) from (values
  ('Export invoices to PDF', 'export', 'the same title is a duplicate'),
  ('export INVOICES to pdf!', 'export', 'in other case and punctuation'),
  ('Export invoice to a PDF', 'export', 'in nearly the same words'),
  ('Creme brulee in the cafe', 'cafe', 'without its accents'),
  ('Something else altogether', null, 'another is not')) as t (title, similar_to, claim);
select is((select similarity from private.similar_submissions(tests.id('acme'), 'Export invoices to PDF', null) limit 1), 1::real,
  'an identical title has similarity 1');
select is_empty($$ select from private.similar_submissions(tests.id('acme'), 'Export invoices to PDF', 'Accountants want a portable document of each invoice.')
  where similarity not between 0 and 1 $$, 'similarity is between 0 and 1');
select is(pg_temp.similar('Make everything portable, everywhere'), null, 'one common word does not make a duplicate');
select is(pg_temp.similar('Make everything portable, everywhere', 'Accountants want a portable document of each invoice.'), 'export',
  'a similar description makes a duplicate');
select is_empty($$ select from private.similar_submissions(tests.id('acme'), 'Export invoices elsewhere', null) where submission_id = tests.id('rival') $$,
  'similar submissions do not include those of another organization');
select is(tests.see('bob', $$ select count(*)
from private.similar_submissions(tests.id('vault'), 'Export invoices to PDF', null) join submissions s on s.id = submission_id $$), '0',
  'similar submissions do not include invisible ones');
select lives_ok(format('select count(*)
from private.similar_submissions(tests.id(''acme''), %L, %L)', title, title), format('%s is compared without an error', left(title, 20)))
from unnest(array['', '''', '\\\\', '%_%_%', ':* & | !', '😀😀😀😀😀', 'ダークモード', repeat('word ', 1000)]) as title;

-- Pairs
select is(tests.see('adam', $$ select count(*) from private.similar_pairs(tests.id('rival'), 60) p join private.submission_search s on s.submission_id = p.one_id $$), '42501',
  'pairs tell nothing of submissions');
select is(tests.see(who, 'select count(*) from private.similar_pairs(tests.id(''acme''), 60)'), '42501', format('%s finds no pairs', who))
from unnest(array['anon', 'acme key with submissions:read']) as who;
do $$ begin
  perform tests.submission('Dark theme for the night', 'alice'); perform tests.submission('A dark theme for the night', 'bob');
  update submissions set created_at = now() + interval '1 day' where id = tests.id('Dark theme for the night');
end $$;
select results_eq($$ select other_id from private.similar_pairs(tests.id('acme'), 1) $$, $$ values (tests.id('A dark theme for the night')) $$,
  'the newest is compared with all others');
select is_empty($$ select from private.similar_pairs(tests.id('rival'), 60) p join submissions s on s.id in (p.one_id, p.other_id)
  where s.organization_id <> tests.id('rival') $$, 'pairs are of one organization');
do $$ begin update submissions set status = 'completed' where id = tests.id('Dark theme for the night'); end $$;
select is_empty($$ select from private.similar_pairs(tests.id('acme'), 60) where one_id = tests.id('Dark theme for the night') $$, 'what is done is not compared');

select * from finish();
rollback;
