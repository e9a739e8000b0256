-- Search and similarity. Search data is kept outside of submissions, so that a vote stays a small update.
--
-- Every way to match is a lexeme of its own, so that the index answers it with one lookup and reads no range:
--   export      a whole word; of scripts without spaces, two adjacent characters
--   ^exp        the beginning of a word
--   $export     the end of a German word, such as Kalenderexport
--   ~export     the stem of a word, in the language of the text
--   +darkmode   two adjacent words, for phrases and for other spellings (darkmode, dark-mode)
--   =export     any of these in the title
--   #05         the tier of votes: 2^4 to 2^5 - 1
-- All begin with eight digits of the organization's id: no search reads entries of another organization.

create table private.submission_search (
  submission_id uuid primary key references public.submissions (id) on delete cascade,
  organization_id uuid not null,
  title_lexemes tsvector not null,
  lexemes tsvector not null,
  title text not null,
  content text not null
);
comment on table private.submission_search is
  'Search data of submissions: lexemes for search, title_lexemes those of the title only; title and content '
  '(lowercase, without accents) for similarity.';
create index submission_search_lexemes_idx on private.submission_search using gin (lexemes);

create table private.search_words (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  word text not null
);
comment on table private.search_words is
  'Words of approved submissions, to suggest a known word for an unknown one. Not unique, so that no '
  'submission waits for another one with the same new word; the schedule removes words that are gone.';
create index search_words_word_idx on private.search_words (organization_id, word);
create index search_words_trigram_idx on private.search_words
  using gin (organization_id, word extensions.gin_trgm_ops);

create table private.search_statistics (
  organization_id uuid primary key references public.organizations (id) on delete cascade,
  size bigint not null,
  tiers bigint[] not null,
  refreshed_at timestamptz not null default now()
);
comment on table private.search_statistics is
  'Number of submissions of an organization, and of those in each tier of votes, when last counted.';
create table private.search_frequencies (
  organization_id uuid references public.organizations (id) on delete cascade,
  lexeme text,
  share real not null,
  primary key (organization_id, lexeme)
);
comment on table private.search_frequencies is
  'Share of submissions with a common lexeme. It decides how a search for all words reads, not what it '
  'finds.';

-- Words -----------------------------------------------------------------------------------------------------

-- Lowercase text in one spelling (NFKC), without soft hyphens, joiners and other invisible characters.
create function private.fold_text(value text) returns text
language sql immutable
return lower(normalize(translate(value, U&'\00AD\061C\180E\200B\200C\200D\200E\200F'
  '\202A\202B\202C\202D\202E\2060\2066\2067\2068\2069\FEFF', ''), NFKC));

-- Lowercase text without accents.
-- plpgsql, because unaccent is only stable and a SQL wrapper would not be inlined.
create function private.plain_text(value text) returns text
language plpgsql immutable set search_path = pg_temp as $$
begin
  if value ~ '^[ -~]*$' then return lower(value); end if;
  return translate(
    extensions.unaccent('extensions.unaccent'::regdictionary, private.fold_text(value)), 'ς', 'σ');
end
$$;

-- Pattern of a letter of a script that writes words without spaces, or attaches particles to them.
create function private.unspaced_letter() returns text
language sql immutable
return '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]';

-- Whether a word belongs to such a script.
create function private.is_unspaced(word text) returns boolean
language sql immutable
return word ~ ('^' || private.unspaced_letter());

-- Words of a text (10,000 characters) in order, lowercase with accents, up to 60 characters. Runs of
-- kanji, katakana, hiragana, hangul and Thai are words of their own.
create function private.split_words(value text) returns text[]
language sql immutable
return (
  select array_agg(case when private.is_unspaced(w) then w else left(w, 60) end order by n)
  from regexp_split_to_table(regexp_replace(left(private.fold_text(value), 10000),
    '([\u3400-\u9fff\uf900-\ufaff\u3005]+|[\u30a1-\u30fa\u30fc-\u30ff]+|[\u3041-\u309f]+|'
      '[\uac00-\ud7af]+|[\u0e00-\u0eff]+)', ' \1 ', 'g'),
  '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7'
    '\u060c\u061b\u061f\u0964\u2000-\u206f\u20a0-\u20bf\u2190-\u21ff\u2e00-\u2e7f\u3000-\u3004'
    '\u3008-\u3020\u3030\u303d\u30a0\u30fb]+') with ordinality t (w, n) where w <> '');

-- A word without accents and punctuation; can be empty.
-- Removing an accent can leave punctuation, which has a meaning in queries and regular expressions.
create function private.plain_word(word text) returns text
language plpgsql immutable set search_path = pg_temp as $$
begin
  if octet_length(word) = char_length(word) then return word; end if;
  return regexp_replace(private.plain_text(word),
    '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007f]+', '', 'g');
end
$$;

-- The words of a name by which people are searched: letters and digits without accents, apostrophes and vowel
-- points. Runs of a script without spaces are words.
create function private.name_words(name text) returns text[]
language plpgsql immutable set search_path = pg_temp as $$
begin
  return array_remove(regexp_split_to_array(regexp_replace(private.plain_text(regexp_replace(name,
    '[''`\u00b4\u02bb\u02bc\u2018\u2019\u2032\uff07\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]', '', 'g')),
    '(' || private.unspaced_letter() || '+)', ' \1 ', 'g'), '[^[:alnum:]]+'), '');
end
$$;

-- These words as text, with a space before each word and each letter of a script without spaces.
-- definer: who changes a profile writes its index.
create function private.name_key(name text) returns text
language plpgsql immutable security definer set search_path = pg_temp as $$
begin
  return ' ' || regexp_replace(array_to_string(private.name_words(name), ' '),
    '(' || private.unspaced_letter() || ')(?=' || private.unspaced_letter() || ')', '\1 ', 'g');
end
$$;
grant execute on function private.name_key to authenticated, service_role;
create index profiles_name_idx on public.profiles using gin (private.name_key(name) extensions.gin_trgm_ops)
  where kind = 'user';
create index profiles_name_of_organization_idx on public.profiles
  using gin (organization_id, private.name_key(name) extensions.gin_trgm_ops) where organization_id is not null;

-- The dictionaries with the endings and small words of a language.
create function private.stemmers() returns regdictionary[]
language sql immutable
return array['english_stem', 'german_stem', 'french_stem', 'spanish_stem', 'italian_stem', 'portuguese_stem',
  'russian_stem']::regdictionary[];

-- Lexemes of the tier of votes. Tiers follow the order of votes and ids; submissions with one vote or none
-- are also divided into 16 and 256 tiers by id.
create function private.search_tiers(organization_id uuid, votes integer, submission_id uuid) returns text[]
language sql immutable
return (select array_agg(left(organization_id::text, 8) || '#'
    || lpad(length(ltrim(votes::bit(32)::text, '0'))::text, 2, '0') || left(submission_id::text, n))
  from generate_series(0, case when votes > 1 then 0 else 2 end) n);

-- Lexemes of a title and of title and description together, and the words to suggest.
create function private.submission_lexemes(organization_id uuid, title text, description text,
  out title_lexemes text[], out lexemes text[], out known text[])
language plpgsql immutable set search_path = pg_temp set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  board constant text := left(organization_id::text, 8);
  title_words constant text[] := coalesce(private.split_words(title), '{}');
  has_unspaced constant boolean := title || description ~ '[\u0e00-\uffff]';
begin
  with tokens as materialized (
    select t.n, t.word, t.n <= cardinality(title_words) as in_title, p.plain,
      has_unspaced and private.is_unspaced(t.word) as is_unspaced
    from unnest(title_words || private.split_words(description)) with ordinality t (word, n)
      -- Calling plain_word for each word would take longer than everything else.
      cross join lateral (select case when octet_length(t.word) = char_length(t.word) then t.word
        else private.plain_word(t.word) end as plain offset 0) p
    where p.plain <> ''
  ), words as materialized (
    select t.word, t.plain, bool_or(t.in_title) as in_title
    from tokens t where not t.is_unspaced group by 1, 2
  ), languages as materialized (
    -- The languages that contain most of the small words, or all languages.
    select l.stemmer from (
      select s.stemmer, rank() over (order by count(w.word) desc) as n
      from unnest(private.stemmers()) s (stemmer)
        left join words w on char_length(w.word) < 5 and ts_lexize(s.stemmer, w.word) = '{}' group by 1) l
    where l.n = 1
  ), made as (
    select w.in_title, w.plain as lexeme from words w
    union all
    select w.in_title, '^' || left(w.plain, n)
    from words w, generate_series(1, least(char_length(w.plain), 13) - 1) n
    union all
    select w.in_title, '$' || right(f.form, n)
    from words w cross join lateral (
        select private.plain_word((ts_lexize('german_stem', w.word))[1]) union select w.plain) f (form)
      cross join lateral generate_series(4, least(char_length(f.form) - 3, 20)) n
    where char_length(w.plain) > 7 and f.form is not null
      and exists (select from languages l where l.stemmer = 'german_stem'::regdictionary)
    union all
    -- v2 and mp3 are found by their numbers.
    select w.in_title, d.digits[1] from words w, regexp_matches(w.plain, '\d+', 'g') d (digits)
    where w.plain ~ '\d' and w.plain ~ '\D'
    union all
    select w.in_title, '~' || case when octet_length(f.stem) = char_length(f.stem) then f.stem
      else private.plain_word(f.stem) end
    from words w cross join languages l cross join lateral (select (ts_lexize(l.stemmer, w.word))[1]
      union all select (ts_lexize(l.stemmer, w.plain))[1] where w.plain <> w.word) f (stem)
    where f.stem <> ''
    union all
    select t.in_title, p.lexeme from tokens t
      cross join lateral (select c.letter, lead(c.letter) over (order by c.n) as next, c.n
        from unnest(string_to_array(t.plain, null)) with ordinality c (letter, n)) c
      cross join lateral (values (c.letter || coalesce(c.next, '')), ('^' || c.letter)) p (lexeme)
    where has_unspaced and t.is_unspaced and (c.next is not null or c.n = 1 or p.lexeme <> c.letter)
    union all
    select t.in_title, '+' || right(t.plain, 30) || left(t.next, 30) from (
      select t.*, lead(t.plain) over (partition by t.in_title order by t.n) as next from tokens t) t
    where t.next is not null
  )
  select coalesce(array_agg(board || '=' || m.lexeme) filter (where m.in_title), '{}'),
    coalesce(array_agg(board || m.lexeme), '{}'),
    array(select w.plain from words w where w.plain ~ '^\D{4,30}$')
  into title_lexemes, lexemes, known from made m;
end
$$;

-- Trigger: updates the search data of a submission. definer: clients may not write to private.
create function private.index_submission() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare
  made record;
  -- The new row already counts the author's vote.
  votes constant integer := (select s.vote_count from public.submissions s where s.id = new.id);
begin
  select * into made from private.submission_lexemes(new.organization_id, new.title, new.description);
  insert into private.submission_search
    (submission_id, organization_id, title_lexemes, lexemes, title, content)
  values (new.id, new.organization_id, array_to_tsvector(made.title_lexemes),
    array_to_tsvector(made.title_lexemes || made.lexemes
      || private.search_tiers(new.organization_id, votes, new.id)),
    left(private.plain_text(new.title), 400),
    left(private.plain_text(new.title || ' ' || new.description), 8000))
  on conflict (submission_id) do update set title_lexemes = excluded.title_lexemes,
    lexemes = excluded.lexemes, title = excluded.title, content = excluded.content;
  if new.moderation_state = 'approved' then
    insert into private.search_words (organization_id, word)
    select new.organization_id, k.word from unnest(made.known) k (word)
    where not exists (select from private.search_words w
      where w.organization_id = new.organization_id and w.word = k.word);
  end if;
  return null;
end
$$;

-- This trigger runs after the trigger start, which adds the author's vote.
create trigger store_words after insert or update of title, description, moderation_state
  on public.submissions for each row execute function private.index_submission();

-- Trigger: moves a submission to another tier of votes. definer: clients may not write to private.
create function private.index_votes() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  update private.submission_search c set lexemes = ts_delete(c.lexemes,
      private.search_tiers(old.organization_id, old.vote_count, old.id))
    || array_to_tsvector(private.search_tiers(new.organization_id, new.vote_count, new.id))
  where c.submission_id = new.id;
  return null;
end
$$;
create trigger index_votes after update of vote_count on public.submissions
  for each row when (length(ltrim(old.vote_count::bit(32)::text, '0'))
    <> length(ltrim(new.vote_count::bit(32)::text, '0')))
  execute function private.index_votes();

-- Queries ---------------------------------------------------------------------------------------------------

create type private.parsed_search as (
  title_phrase tsquery, title_whole tsquery, title_ending tsquery, title_any tsquery, title_some tsquery,
  text_ending tsquery, text_any tsquery, title_share real, text_share real,
  words text[], word_queries tsquery[], word_title_queries tsquery[], word_shares real[],
  marks text);
comment on type private.parsed_search is
  'A query in its ways to match, each including the ones before: the phrase, whole words, endings, '
  'beginnings (any), and some word in the title. The shares are the largest part of the board that can '
  'match. words are those that must be there, each with a query of its own. marks is a regular expression.';

-- Text of a query for any of the lexemes.
create function private.search_query(organization_id uuid, lexemes text[]) returns text
language sql immutable
return '(' || (
  select string_agg(distinct '''' || left(organization_id::text, 8) || translate(l, '''\', '') || '''', '|')
  from unnest(lexemes) l) || ')';

-- The same query for titles only.
create function private.in_title(query text) returns text
language sql immutable
return regexp_replace(query, '''([0-9a-f]{8})', '''\1=', 'g');

-- Parses words, "phrases", -exclusions and OR. Small words of a language are optional, unless the query has
-- no other words. definer: reads private.search_frequencies.
create function private.parse_search(organization_id uuid, q text) returns private.parsed_search
language plpgsql stable security definer set search_path = pg_temp as $$
#variable_conflict use_column
declare parsed private.parsed_search;
begin
  with units as materialized (
    select m.n, m.part[1] <> '' as is_excluded, m.part[2] is not null as is_quoted,
      coalesce(m.part[2], m.part[3]) as value
    from regexp_matches(translate(left(private.fold_text(q), 300), '“”„«»', '"""""'),
      '(-?)(?:"([^"]*)"?|([^\s"]+))', 'g') with ordinality m (part, n)
  ), groups as materialized (
    -- OR joins the units before and after it.
    select u.*, count(*) filter (where not u.follows_or) over (order by u.n) as group_n
    from (select u.*, coalesce(lag(u.is_or) over (order by u.n), false) as follows_or
      from (select u.*, u.value = 'or' and not u.is_quoted and not u.is_excluded
        and u.n > 1 and u.n < (select max(n) from units) as is_or from units u) u) u
    where not u.is_or
  ), tokens as materialized (
    select t.*, lag(t.plain) over w as previous, lead(t.plain) over w as next,
      t.n = max(t.n) over () as is_last
    from (select u.group_n, u.n as unit, u.is_excluded, u.is_quoted,
        row_number() over (order by u.n, t.k) as n, t.word, private.plain_word(t.word) as plain,
        private.is_unspaced(t.word) as is_unspaced
      from groups u cross join lateral unnest(private.split_words(u.value)) with ordinality t (word, k)
      where private.plain_word(t.word) <> '' order by u.n, t.k limit 40) t
    window w as (
      partition by t.is_excluded, case when t.is_quoted or t.is_excluded then t.unit end order by t.n)
  ), parts as materialized (
    select t.*, p.part, f.stems,
      case when t.is_unspaced then t.plain ~ '^[\u3041-\u309f]+$' else f.is_small end as is_small,
      array[p.part] || case when not t.is_unspaced then array_remove(array['+' || p.part,
        t.previous || p.part, p.part || t.next], null) else '{}' end as whole,
      case when t.is_unspaced then '{}'
        else array(select k || s from unnest(f.stems) s, unnest(array['~', '+']) k) end as ending,
      case when not t.is_unspaced then array(
          select '^' || left(b, 12)
          from unnest(array[case when char_length(p.part) > 2 or t.is_last then p.part end]
            || array(select s from unnest(f.stems) s where char_length(s) > 4)) b where b is not null
          union all
          select '^' || b from unnest(array[t.previous || p.part, p.part || t.next]) b
          where char_length(b) < 13
          union all
          select '$' || s from unnest(array[p.part] || f.stems) s where char_length(s) > 3)
        when char_length(p.part) = 1 then array['^' || p.part] else '{}' end as beginning
    from tokens t cross join lateral (
      select bool_or(f.forms = '{}') as is_small,
        array_agg(distinct private.plain_word(f.forms[1])) filter (where f.forms[1] is not null) as stems
      from unnest(private.stemmers()) s (stemmer)
        cross join lateral (
          values (ts_lexize(s.stemmer, t.word)), (ts_lexize(s.stemmer, t.plain))) f (forms)) f
      cross join lateral (
        select t.plain as part where not t.is_unspaced or char_length(t.plain) = 1
        union all
        select substr(t.plain, i, 2) from generate_series(1, char_length(t.plain) - 1) i
        where t.is_unspaced) p
    order by t.n limit 80
  ), wanted as materialized (
    select p.*, array(
        select t || l from unnest(p.whole || p.ending || p.beginning) l, unnest(array['', '=']) t) as lexemes,
      private.search_query(organization_id, p.whole || p.ending || p.beginning) as query
    from parts p
    where not p.is_excluded and (p.is_quoted or not p.is_small
      or not exists (select from parts o where not o.is_excluded and not o.is_small))
  ), strict as materialized (
    -- Quoted or excluded text matches whole words in this order.
    select t.group_n, t.is_excluded, string_agg(x.query, ' & ') as query
    from (select t.group_n, t.unit, t.is_excluded, count(distinct t.n) as words from parts t
      where t.is_excluded or t.is_quoted group by 1, 2, 3) t
      cross join lateral (
        select private.search_query(organization_id,
          p.whole[1:1] || case when t.is_excluded and t.words = 1 then p.ending end) as query
        from parts p where p.unit = t.unit and (t.words = 1 or p.is_unspaced)
        union all
        select private.search_query(organization_id, array['+' || right(n.plain, 30) || left(n.next, 30)])
        from tokens n where n.unit = t.unit and n.next is not null) x
    group by t.group_n, t.unit, t.is_excluded
  ), combined as materialized (
    select string_agg('(' || g.whole || ')', '&') as whole, string_agg('(' || g.ending || ')', '&') as ending,
      string_agg('(' || g.beginning || ')', '&') as beginning, bool_or(g.units > 1) as has_or,
      (select coalesce(string_agg('& !(' || s.query || ')', ''), '') from strict s
        where s.is_excluded) as excluded
    from (
      select l.group_n, string_agg('(' || l.whole || ')', '|') as whole,
        string_agg('(' || l.ending || ')', '|') as ending,
        string_agg('(' || l.beginning || ')', '|') as beginning, count(*) as units
      from (
        select w.group_n, string_agg(private.search_query(organization_id, w.whole), '&') as whole,
          string_agg(private.search_query(organization_id, w.whole || w.ending), '&') as ending,
          string_agg(w.query, '&') as beginning
        from wanted w where not w.is_quoted group by w.group_n, w.unit
        union all
        select s.group_n, s.query, s.query, s.query from strict s where not s.is_excluded) l
      group by 1) g
  ), word_shares as materialized (
    select w.n, w.part, max(f.share) filter (where substr(f.lexeme, 1, 1) = '=') as in_title,
      max(f.share) filter (where substr(f.lexeme, 1, 1) <> '=') as in_text
    from wanted w left join lateral (
      select f.lexeme, f.share from private.search_frequencies f
      where f.organization_id = parse_search.organization_id and f.lexeme = any (w.lexemes) offset 0) f
      on true
    group by w.n, w.part
  ), shares as materialized (
    select case when c.has_or then least(coalesce(sum(s.in_title), 0), 1)
        else min(coalesce(s.in_title, 0)) end as in_title,
      case when c.has_or then least(coalesce(sum(s.in_text), 0), 1)
        else min(coalesce(s.in_text, 0)) end as in_text
    from combined c cross join word_shares s
    group by c.has_or
  )
  select (private.in_title(c.whole || (select string_agg('&'
        || private.search_query(organization_id, array['+' || right(t.plain, 30) || left(t.next, 30)]), '')
      from tokens t where not t.is_excluded and not t.is_quoted and t.next is not null))
      || c.excluded)::tsquery,
    (private.in_title(c.whole) || c.excluded)::tsquery, (private.in_title(c.ending) || c.excluded)::tsquery,
    (private.in_title(c.beginning) || c.excluded)::tsquery,
    (select private.in_title(string_agg(w.query, '|'))::tsquery from wanted w where not w.is_quoted
      having count(*) > 1),
    (c.ending || c.excluded)::tsquery,
    coalesce(c.beginning || c.excluded, nullif(substr(c.excluded, 2), ''))::tsquery,
    coalesce(s.in_title, 1), coalesce(s.in_text, 1), w.words, w.queries, w.title_queries, w.shares, w.marks
  from combined c left join shares s on true,
    (select array_agg(w.part order by w.n, w.part) as words,
        array_agg(w.query::tsquery order by w.n, w.part) as queries,
        array_agg(private.in_title(w.query)::tsquery order by w.n, w.part) as title_queries,
        array_agg(coalesce(s.in_text, 0) order by w.n, w.part) as shares,
        (select string_agg(distinct m.mark, '|' order by m.mark desc) from wanted w cross join lateral (
          select unnest(array[w.plain, w.part]) as mark where w.is_unspaced
          union all
          select '\m' || (select r from unnest(array[w.plain] || w.stems) r
            where r = w.plain or char_length(r) > 2 and left(w.plain, char_length(r)) = r
            order by char_length(r) limit 1) || '\w*' where not w.is_unspaced) m) as marks
      from wanted w join word_shares s on s.n = w.n and s.part = w.part) w
  into parsed;
  return parsed;
end
$$;

-- Matches ---------------------------------------------------------------------------------------------------

create type private.search_scope as (
  organization_id uuid, status text, type text, category_id uuid, tag_id uuid, author_id uuid,
  caller_id uuid, team_ids uuid[], agent_category_ids uuid[], board private.search_statistics);
comment on type private.search_scope is
  'The submissions that a search may find: an organization''s, with filters, that the caller can see.';

create type private.search_hit as (submission_id uuid, class integer, votes integer, relevance real);
comment on type private.search_hit is
  'A match: class 1 has the phrase in the title, 2 all words, 3 with other endings, 4 as beginnings; 5 has '
  'some of them in the title; 6 has them in the text, 7 as beginnings; 8 does not have all words, and votes '
  'is its rank.';

-- The scope of a search by the caller. definer: reads private.search_statistics.
create function private.search_scope(organization_id uuid, status text default null, type text default null,
  category_id uuid default null, tag_id uuid default null, author_id uuid default null)
  returns private.search_scope
language plpgsql stable security definer set search_path = pg_temp
  set plan_cache_mode = force_generic_plan as $$
begin
  -- A function in SQL would be planned at each call.
  return row(organization_id, status, type, category_id, tag_id, author_id, private.caller_id(),
    private.team_organization_ids(), private.agent_category_ids(),
    coalesce((select b from private.search_statistics b where b.organization_id = search_scope.organization_id),
      row(organization_id, 0, null, null)::private.search_statistics))::private.search_scope;
end
$$;

-- Whether a submission has the tag.
create function private.has_tag(submission_id uuid, tag_id uuid) returns boolean
language sql stable
return exists (select from public.submission_tags t
  where t.submission_id = has_tag.submission_id and t.tag_id = has_tag.tag_id);

-- Whether a search may find a submission. Rows that the caller cannot see take no place in the results.
-- Contains no subquery, so that Postgres can inline it.
create function private.in_search_scope(scope private.search_scope, s public.submissions) returns boolean
language sql stable
return s.organization_id = scope.organization_id and s.merged_into_id is null
  and private.can_see_submission(s.is_public, s.author_id, s.organization_id, scope.caller_id, scope.team_ids)
  and (scope.agent_category_ids is null or s.category_id = any (scope.agent_category_ids))
  and (scope.status is null or s.status = scope.status) and (scope.type is null or s.type = scope.type)
  and (scope.category_id is null or s.category_id = scope.category_id)
  and (scope.author_id is null or s.author_id = scope.author_id)
  and (scope.tag_id is null or private.has_tag(s.id, scope.tag_id));

-- Number of listed submissions in a scope: those that the caller can see, or with is_whole all of them.
create function private.count_in_scope(scope private.search_scope, is_whole boolean default false)
  returns bigint
language plpgsql stable set search_path = pg_temp set plan_cache_mode = force_generic_plan as $$
declare
  own_id constant uuid := scope.organization_id;
  all_of_them constant boolean := is_whole or own_id = any (scope.team_ids);
  counted bigint;
begin
  if num_nonnulls(scope.tag_id, scope.author_id) = 2 then
    execute 'select count(*) from public.submissions s where ' || private.scope_conditions(scope)
      || private.tag_condition(scope) into counted;
    return counted;
  end if;
  return coalesce((
    select sum(c.total) from (
      select c.is_public, c.status, c.type, c.category_id, c.total from private.submission_counts c
      where c.organization_id = own_id and scope.author_id is null and scope.tag_id is null
      union all
      select c.is_public, c.status, c.type, c.category_id, c.total from private.submission_subtotals c
      where c.organization_id = own_id and c.author_id = scope.author_id
      union all
      select c.is_public, c.status, c.type, c.category_id, c.total from private.submission_subtotals c
      where c.organization_id = own_id and c.tag_id = scope.tag_id) c
    where (c.is_public or all_of_them) and (scope.status is null or c.status = scope.status)
      and (scope.type is null or c.type = scope.type)
      and (scope.category_id is null or c.category_id = scope.category_id)
      and (scope.agent_category_ids is null or c.category_id = any (scope.agent_category_ids))), 0)
  + case when all_of_them or scope.caller_id is null then 0 else (
    select count(*) from public.submissions s
    where s.organization_id = own_id and s.author_id = scope.caller_id and not s.is_public
      and private.in_search_scope(scope, s)) end;
end
$$;

-- The conditions of private.in_search_scope for a row s as SQL that the planner can read; with is_filter only
-- the filters, without who may see the row; without the tag.
create function private.scope_conditions(scope private.search_scope, is_filter boolean default false)
  returns text
language plpgsql stable set search_path = pg_temp as $$
declare conditions text := format('s.organization_id = %L and s.merged_into_id is null', scope.organization_id);
begin
  if is_filter is not true and scope.organization_id = any (scope.team_ids) is not true then
    conditions := conditions || format(
      ' and private.can_see_submission(s.is_public, s.author_id, s.organization_id, %L, %L)', scope.caller_id,
      scope.team_ids);
  end if;
  conditions := concat_ws(' and ', conditions,
    's.category_id = any (' || quote_literal(scope.agent_category_ids) || ')',
    's.status = ' || quote_literal(scope.status), 's.type = ' || quote_literal(scope.type),
    's.category_id = ' || quote_literal(scope.category_id), 's.author_id = ' || quote_literal(scope.author_id));
  if scope.category_id is not null and num_nonnulls(scope.status, scope.type) = 1 then
    -- This condition excludes nothing, and lets submissions_kind_idx find the category.
    conditions := conditions || (select format(' and s.type = any (%L) and s.status = any (%L)',
        array_agg(distinct c.type), array_agg(distinct c.status)) from private.submission_counts c
      where c.organization_id = scope.organization_id);
  end if;
  return conditions;
end
$$;

-- The condition of the tag of a scope, to follow private.scope_conditions.
create function private.tag_condition(scope private.search_scope) returns text
language plpgsql stable set search_path = pg_temp as $$
begin
  return coalesce(format(' and s.id in (select m.submission_id from public.submission_tags m
    where m.organization_id = %L and m.tag_id = ', scope.organization_id) || quote_literal(scope.tag_id) || ')',
    '');
end
$$;

-- At most this many submissions pass the filters of a scope, whoever may see them.
create function private.filter_size(scope private.search_scope) returns bigint
language plpgsql stable set search_path = pg_temp as $$
declare by_author private.search_scope := scope; by_tag private.search_scope := scope;
begin
  by_author.tag_id := null;
  by_tag.author_id := null;
  return least(private.count_in_scope(by_author, true), private.count_in_scope(by_tag, true));
end
$$;

-- Groups of tiers in the order of results, as queries: the first group is expected to have the wanted number
-- of matches, each following group about 16 times as many as those before it.
create function private.search_groups(board private.search_statistics, share real, wanted integer,
  after private.search_hit, out query tsquery)
  returns setof tsquery
language plpgsql stable set search_path = pg_temp as $$
begin
  return query
  select string_agg(quote_literal(left(board.organization_id::text, 8) || '#' || g.tier), '|')::tsquery
  from (
    select t.*, floor(ln(greatest(0.25,
      (sum(t.size) over (order by t.n desc) - t.size) * share / wanted)::float8) / ln(16)) as group_n
    from (
      select b * 256 as n, lpad(b::text, 2, '0') as tier, coalesce(board.tiers[b + 1], 0)::real as size,
        (2 ^ (b - 1))::bigint::integer as votes, '' as id_prefix
      from generate_series(2, 31) b
      union all
      select b * 256 + i * 256 / p.parts, '0' || b || h.id_prefix, d.size / p.parts, b, h.id_prefix
      from generate_series(0, 1) b
        cross join lateral (select coalesce(board.tiers[b + 1], 0)::real as size) d
        cross join lateral (select (16 ^ least(2, greatest(0,
          ceil(ln(greatest(1, d.size * share / wanted / 8)::float8) / ln(16)))))::integer as parts) p
        cross join lateral generate_series(0, p.parts - 1) i
        cross join lateral (
          select right('0' || to_hex(i), length(to_hex(p.parts - 1)) - (p.parts = 1)::integer)
            as id_prefix) h) t
    where after.votes is null or t.n <= length(ltrim(after.votes::bit(32)::text, '0')) * 256
      + case when after.votes > 1 then 0
        else ('x' || left(after.submission_id::text, 2))::bit(8)::integer end) g
  group by g.group_n order by g.group_n;
end
$$;

-- The class of a match: see private.search_hit.
create function private.search_class(p private.parsed_search, title tsvector, lexemes tsvector)
  returns integer
language sql immutable
return case when title @@ p.title_phrase then 1 when title @@ p.title_whole then 2
  when title @@ p.title_ending then 3 when title @@ p.title_any then 4 when title @@ p.title_some then 5
  when lexemes @@ p.text_ending then 6 else 7 end;

-- All matches of a query in the order of results.
-- The subqueries keep their order, whatever statistics the planner has about the tables.
create function private.read_submissions(scope private.search_scope, p private.parsed_search, query tsquery,
  first_class integer, last_class integer, after private.search_hit) returns setof private.search_hit
language plpgsql stable set search_path = pg_temp as $$
begin
  return query
    select c.submission_id, k.class, s.vote_count, (1.1 - k.class * 0.1)::real
    from (select c.submission_id, c.title_lexemes, c.lexemes from private.submission_search c
        where c.lexemes operator(pg_catalog.@@) query offset 0) c
      -- A query of a single class determines the class, without reading the lexemes of each row.
      cross join lateral (select case when first_class = last_class then first_class
        else private.search_class(p, c.title_lexemes, c.lexemes) end as class offset 0) k
      cross join lateral (select s.vote_count, s as whole from public.submissions s
        where s.id = c.submission_id offset 0) s
    where k.class between first_class and last_class and private.in_search_scope(scope, s.whole)
      and (after.class is null or k.class > after.class
        or (s.vote_count, c.submission_id) < (after.votes, after.submission_id))
    order by k.class, s.vote_count desc, c.submission_id desc;
end
$$;

-- The first matches of all words after a place: at least the wanted number if there are as many.
create function private.full_matches(scope private.search_scope, p private.parsed_search, wanted integer,
  after private.search_hit, out hits private.search_hit[])
language plpgsql stable set search_path = pg_temp as $$
declare
  board constant private.search_statistics := scope.board;
  few constant integer := 400;
  is_rare boolean := p.words is not null and board.size * p.text_share <= few;
  is_rare_in_title boolean := board.size * p.title_share <= few;
  -- The query of each class, and the query that matches of the class must not match.
  queries constant tsquery[] := array[p.title_phrase, p.title_whole, p.title_ending, p.title_any,
    p.text_any && p.title_some, p.text_ending, p.text_any];
  in_title constant tsquery := coalesce(p.title_some, p.title_any);
  excluded constant tsquery[] := array[null, p.title_phrase, p.title_whole, p.title_ending, p.title_any,
    in_title, in_title || p.text_ending];
  has_filters constant boolean := num_nonnulls(scope.status, scope.type, scope.category_id, scope.tag_id,
    scope.author_id, scope.agent_category_ids) > 0;
  step integer := coalesce(after.class, 1);
  last integer; query tsquery; share real; part record; known integer; size bigint; passing real := 1;
  is_probed boolean := false; restarts boolean; only_ids uuid[];
begin
  hits := '{}';
  if has_filters and not is_rare then
    size := private.filter_size(scope);
    passing := greatest(size, 1) / greatest(board.size, size, 1)::real;
    if size <= greatest(1000, sqrt(wanted * board.size::float8)) then
      execute format('select array(select s.id from public.submissions s where %s)',
        private.scope_conditions(scope) || private.tag_condition(scope)) into only_ids;
      hits := array(
        select row(s.id, k.class, s.vote_count, 1.1 - k.class * 0.1)::private.search_hit
        from unnest(only_ids) l (id)
          cross join lateral (select c.title_lexemes, c.lexemes from private.submission_search c
            where c.submission_id = l.id and c.lexemes operator(pg_catalog.@@) p.text_any offset 0) c
          cross join lateral (select private.search_class(p, c.title_lexemes, c.lexemes) as class offset 0) k
          cross join lateral (select s.id, s.vote_count, s as whole from public.submissions s
            where s.id = l.id offset 0) s
        where private.in_search_scope(scope, s.whole) and (after.class is null or k.class > after.class
          or k.class = after.class and (s.vote_count, s.id) < (after.votes, after.submission_id))
        order by k.class, s.vote_count desc, s.id desc);
      return;
    end if;
  end if;
  while step < 8 loop
    share := case when step < 5 then p.title_share else p.text_share end;
    -- A rare word is looked up in all classes at once.
    last := case when is_rare then 7 when step < 5 and is_rare_in_title then 4 else step end;
    query := queries[last];
    if last = step and step > 1 then query := coalesce(query && !!excluded[step], query); end if;
    if query is null then step := last + 1; continue; end if;
    known := cardinality(hits);
    restarts := false;
    for part in
      select 1 as n, null::tsquery as query
      where is_rare or step < 5 and is_rare_in_title
      union all
      select row_number() over (), g.query
      from private.search_groups(board, share * passing, wanted, case when after.class = step then after end) g
      where not (is_rare or step < 5 and is_rare_in_title)
    loop
      -- Common words that rarely occur together make few matches: this class starts again.
      restarts := part.n = 2 and not is_probed and cardinality(p.words) > 1;
      if restarts then
        is_probed := true;
        is_rare := (select count(*) <= few from (select from private.submission_search c
          where c.lexemes operator(pg_catalog.@@) p.text_any limit few + 1) c);
        is_rare_in_title := is_rare or is_rare_in_title or (select count(*) <= few
          from (select from private.submission_search c
            where c.lexemes operator(pg_catalog.@@) p.title_any limit few + 1) c);
        restarts := is_rare or step < 5 and is_rare_in_title;
        exit when restarts;
      end if;
      hits := hits || array(select h from private.read_submissions(scope, p,
        case when part.query is null then query else query && part.query end, step, last, after) h);
      if cardinality(hits) >= wanted then return; end if;
    end loop;
    if restarts then hits := hits[:known]; else step := last + 1; end if;
  end loop;
end
$$;

-- The submissions that pass the filters of a scope, if it has filters and these are few; otherwise null.
create function private.few_in_scope(scope private.search_scope) returns uuid[]
language plpgsql stable set search_path = pg_temp as $$
declare max_few constant integer := 300; ids uuid[];
begin
  if num_nonnulls(scope.status, scope.type, scope.category_id, scope.tag_id, scope.author_id,
    scope.agent_category_ids) > 0 and private.filter_size(scope) <= max_few then
    execute format('select array(select s.id from public.submissions s where %s)',
      private.scope_conditions(scope) || private.tag_condition(scope)) into ids;
  end if;
  return ids;
end
$$;

-- Some of the matches of a query: among all, the first max_read (null: all), or among the few.
create function private.some_matches(scope private.search_scope, query tsquery, max_matches integer,
  few uuid[] default null, max_read integer default null) returns table (submission_id uuid)
language plpgsql stable set search_path = pg_temp as $$
begin
  if few is not null then
    return query
      select c.submission_id from unnest(few) l (id)
        cross join lateral (select c.submission_id, c.lexemes from private.submission_search c
          where c.submission_id = l.id offset 0) c
      where c.lexemes operator(pg_catalog.@@) query limit max_matches;
    return;
  end if;
  return query
    select c.submission_id
    from (select c.submission_id from private.submission_search c
        where c.lexemes operator(pg_catalog.@@) query offset 0 limit max_read) c
      cross join lateral (select s as whole from public.submissions s where s.id = c.submission_id offset 0) s
    where private.in_search_scope(scope, s.whole) limit max_matches;
end
$$;

-- Number of matches of a query, up to a limit. Without filters the index of words counts them, together with
-- the few that the caller cannot see, which are counted separately.
create function private.count_matches(scope private.search_scope, p private.parsed_search, most integer)
  returns bigint
language plpgsql stable set search_path = pg_temp set enable_hashjoin = on set plan_cache_mode = force_custom_plan
  as $$
declare
  max_hidden constant integer := 5000;
  own_id constant uuid := scope.organization_id;
  board constant private.search_statistics := scope.board;
  hidden uuid[]; counted bigint := 0; wanted integer; part record;
begin
  if p.text_any is null then return 0; end if;
  if num_nonnulls(scope.status, scope.type, scope.category_id, scope.tag_id, scope.author_id,
    scope.agent_category_ids) = 0 then
    hidden := array(
      (select s.id from public.submissions s where s.organization_id = own_id and s.merged_into_id is not null
        limit max_hidden)
      union
      (select s.id from public.submissions s where s.organization_id = own_id and not s.is_public
        and not private.can_see_submission(s.is_public, s.author_id, s.organization_id, scope.caller_id,
          scope.team_ids) is true limit max_hidden));
    if cardinality(hidden) < max_hidden then
      wanted := most + cardinality(hidden);
      for part in
        select p.text_any as query where p.words is not null and board.size * p.text_share <= 2 * wanted
        union all
        select p.text_any && g.query from private.search_groups(board, p.text_share, wanted / 12, null) g
        -- Exclusions alone would match those of other organizations.
        where p.words is null or board.size * p.text_share > 2 * wanted
      loop
        counted := counted + (select count(*) from (select from private.submission_search m
          where m.lexemes operator(pg_catalog.@@) part.query limit wanted - counted) m);
        exit when counted >= wanted;
      end loop;
      return least(most, counted - case when counted >= wanted then cardinality(hidden) else (
        select count(*) from unnest(hidden) h (id) join private.submission_search m on m.submission_id = h.id
        where m.lexemes operator(pg_catalog.@@) p.text_any) end);
    end if;
  end if;
  execute format('select count(*) from (select from private.submission_search m
      join public.submissions s on s.id = m.submission_id
      where m.lexemes operator(pg_catalog.@@) $1 and %s limit %s) s',
    private.scope_conditions(scope) || private.tag_condition(scope), most)
  into counted using p.text_any;
  return counted;
end
$$;

-- At most six words of submissions that contain the word or are spelled like it, most similar first. Looks for
-- 20 words, in 1,000 submissions each, so that the work does not depend on the size of the board.
create function private.known_words(scope private.search_scope, word text, few uuid[], out known text,
  out quality real)
  returns setof record
language plpgsql stable set search_path = pg_temp as $$
begin
  return query select n.word, n.quality from (
    select w.word, greatest(extensions.similarity(w.word, known_words.word),
      case when position(known_words.word in w.word) > 0 then 0.6 end)::real as quality
    from private.search_words w
    where w.organization_id = scope.organization_id and w.word <> known_words.word
      and (w.word operator(extensions.%) known_words.word
        or w.word operator(pg_catalog.~~) ('%' || known_words.word || '%'))
    group by w.word order by quality desc, w.word limit 20) n
  where n.quality >= 0.3 and exists (select from private.some_matches(scope,
    private.search_query(scope.organization_id, array[n.word])::tsquery, 1, few, 1000))
  order by n.quality desc, n.word limit 6;
end
$$;

-- Submissions with the rarest and most of the words, or words like them, best first, among 100 for each
-- word. corrections has a known word for each unknown one.
create function private.partial_matches(scope private.search_scope, p private.parsed_search, wanted integer,
  out hits private.search_hit[], out corrections jsonb)
language plpgsql stable set search_path = pg_temp set enable_hashjoin = on as $$
declare
  max_read constant integer := 100;
  board constant private.search_statistics := scope.board;
  few constant uuid[] := private.few_in_scope(scope);
begin
  with words as materialized (
    select w.n, w.word, w.title_query, row_number() over (order by w.share, w.n) as place,
      case when board.size * w.share > max_read then w.query && g.query else w.query end as query,
      case when board.size * w.share > max_read then w.query end as common
    from unnest(p.words, p.word_queries, p.word_title_queries, p.word_shares)
        with ordinality w (word, query, title_query, share, n)
      left join lateral (
        select g.query from private.search_groups(board, w.share, max_read, null) g limit 1) g
        on board.size * w.share > max_read
    order by w.share, w.n limit 8
  ), near as materialized (
    select w.n, k.known, k.quality, private.search_query(scope.organization_id, array[k.known]) as query
    from words w cross join lateral private.known_words(scope, w.word, few) k
    where char_length(w.word) > 3 and not private.is_unspaced(w.word) and w.place < 6
  ), found as materialized (
    select r.n, h.submission_id as id, max(r.quality) as quality
    from (select w.n, w.query, 1 as quality from words w
        union all select n.n, n.query::tsquery, 0.9 * n.quality from near n) r
      cross join lateral private.some_matches(scope, r.query, max_read, few, 1000) h
    group by r.n, h.submission_id
  ), weights as materialized (
    select w.n, w.word, w.common, k.best,
      coalesce(w.title_query || private.in_title(k.query)::tsquery, w.title_query) as title_query,
      ln(2 + 300.0 / (1 + (select count(distinct f.id) from found f where f.n = w.n))) as weight,
      exists (select from found f where f.n = w.n and f.quality = 1) as is_known
    from words w left join lateral (
      select string_agg(n.query, '|') as query,
        (array_agg(n.known order by n.quality desc, n.known))[1] as best
      from near n where n.n = w.n) k on true
  ), scored as (
    select f.id, sum(w.weight * r.quality * case when c.title_lexemes operator(pg_catalog.@@)
      w.title_query then 1.4 else 1 end)
      / (select sum(weight) * 3 from weights) as score
    from (select distinct id from found) f
      cross join lateral (select c.title_lexemes, c.lexemes from private.submission_search c
        where c.submission_id = f.id offset 0) c
      cross join weights w left join found d on d.id = f.id and d.n = w.n
      cross join lateral (select coalesce(d.quality,
        case when c.lexemes operator(pg_catalog.@@) w.common then 1 end) as quality) r
    where r.quality is not null group by f.id
  )
  select array_agg(row(r.id, 8, r.n, r.score)::private.search_hit order by r.n),
    (select jsonb_object_agg(w.word, w.best) from weights w
      where not w.is_known and position(w.word in w.best) = 0)
  into hits, corrections
  from (select r.id, r.score, row_number() over (order by r.score desc, s.vote_count desc, r.id desc) as n
    from scored r cross join lateral (
      select s.vote_count from public.submissions s where s.id = r.id offset 0) s
    order by n limit wanted) r;
end
$$;

-- The first wanted matches after a place, in the order of results. match is all, or any if none has all
-- words; did_you_mean is the query with known words; marks is a regular expression for private.highlight.
-- total, if is_counted, is the number of matches, up to 10,001.
-- definer: reads private.submission_search.
create function private.find_submissions(organization_id uuid, q text, status text, type text,
  category_id uuid, tag_id uuid, author_id uuid, after private.search_hit, wanted integer,
  is_counted boolean default false, out hits private.search_hit[], out total bigint, out match text,
  out did_you_mean text, out marks text)
language plpgsql stable security definer set search_path = pg_temp set jit = off
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  p constant private.parsed_search := private.parse_search(organization_id, q);
  scope constant private.search_scope := private.search_scope(organization_id, status, type, category_id,
    tag_id, author_id);
  corrections jsonb; word record; max_partial constant integer := 100; max_total constant integer := 10001;
begin
  hits := '{}';
  match := 'all';
  marks := p.marks;
  if p.text_any is not null and after.class is distinct from 8 then
    hits := (private.full_matches(scope, p, wanted, after))[:wanted];
    total := case when after is null and cardinality(hits) < wanted then cardinality(hits)
      when is_counted then private.count_matches(scope, p, max_total) end;
  end if;
  if cardinality(hits) = 0 and p.words is not null
    and (after.class is null or after.class = 8) then
    select f.hits[coalesce(after.votes, 0) + 1:coalesce(after.votes, 0) + wanted], cardinality(f.hits), f.corrections
      into hits, total, corrections from private.partial_matches(scope, p, max_partial) f;
    hits := coalesce(hits, '{}');
    if cardinality(hits) > 0 or after.class = 8 then match := 'any'; end if;
    for word in select * from jsonb_each_text(corrections) loop
      did_you_mean := regexp_replace(coalesce(did_you_mean, private.plain_text(q)),
        '\m' || word.key || '\M', word.value, 'g');
      marks := marks || '|\m' || word.value || '\w*';
    end loop;
  end if;
end
$$;

-- One page of a list: the wanted submissions after the skipped ones, or after a row (its value as text and
-- its id), in the order of a column. total counts what the caller can see, with q up to 10,000. A list with
-- filters either walks the index of its order, which is fast if many rows match, or sorts the matches, which
-- is fast if few match. A walk is expected to read page size × board size / matches rows; where it does not
-- fill the page within as many rows as match, the matches are sorted. definer: reads counters and
-- private.submission_search, and skips rows without policies; private.scope_conditions applies their rules.
create function private.list_submissions(organization_id uuid, q text, status text, type text,
  category_id uuid, tag_id uuid, author_id uuid, sort text, is_ascending boolean, after_value text,
  after_id uuid, skipped integer, wanted integer,
  out submission_ids uuid[], out total bigint, out total_is_capped boolean, out match text,
  out did_you_mean text, out marks text)
language plpgsql stable security definer set search_path = pg_temp set jit = off set enable_seqscan = off
  set enable_sort = off set max_parallel_workers_per_gather = 0 as $$
#variable_conflict use_column
declare
  max_counted constant integer := 10000;
  max_hidden constant integer := 10000;
  own_id constant uuid := organization_id;
  scope constant private.search_scope := private.search_scope(organization_id, status, type, category_id,
    tag_id, author_id);
  sees_all constant boolean := coalesce(own_id = any (scope.team_ids), false);
  key constant text := case sort when 'votes' then 's.vote_count' when 'comments' then 's.comment_count'
    when 'title' then 's.title collate "und-x-icu"' else 's.created_at' end;
  direction constant text := case when is_ascending then 'asc' else 'desc' end;
  in_order constant text := format('order by %s %s, s.id %2$s', key, direction);
  page constant text := format(' limit %s offset %s', wanted, skipped);
  after constant text := case when after_id is null then '' else format(' and (%s, s.id) %s ($1::%s, $2)', key,
    case when is_ascending then '>' else '<' end,
    case sort when 'created_at' then 'timestamptz' when 'title' then 'text' else 'integer' end) end;
  -- The filter that the index of the order has.
  sorted_filter constant text := coalesce(case when sort in ('created_at', 'votes')
      then ' and s.status = ' || quote_literal(status) end,
    case when sort = 'created_at' then coalesce(' and s.author_id = ' || quote_literal(author_id),
      ' and s.category_id = ' || quote_literal(category_id)) end, '');
  filters constant integer := num_nonnulls(status, type, category_id, tag_id, author_id, q,
    scope.agent_category_ids);
  without_tag private.search_scope := scope;
  walked private.search_scope := row(own_id, null, null, null, null, null, null, null, null, null);
  conditions text; p private.parsed_search; found_ids uuid[]; hidden uuid[]; knows_hidden boolean;
  matches double precision; board bigint;
begin
  -- Many rows are skipped by an index alone, which does not say who may see each.
  if skipped >= 1000 and not sees_all then
    hidden := array(select s.id from public.submissions s where s.organization_id = own_id
      and not s.is_public and s.author_id is distinct from scope.caller_id limit max_hidden + 1);
  end if;
  without_tag.tag_id := null;
  knows_hidden := coalesce(cardinality(hidden) <= max_hidden, false);
  conditions := private.scope_conditions(without_tag, knows_hidden) || after
    || case when knows_hidden then ' and s.id <> all ($3)' else '' end;

  total_is_capped := false;
  if q is null then
    total := private.count_in_scope(scope);
  else
    p := private.parse_search(own_id, q);
    match := 'all';
    marks := p.marks;
    total := private.count_matches(scope, p, max_counted + 1);
    if total = 0 then
      select array(select h.submission_id from unnest(f.hits) h), f.match, f.did_you_mean, f.marks
        into found_ids, match, did_you_mean, marks
      from private.find_submissions(own_id, q, status, type, category_id, tag_id, author_id, null, 100) f;
      total := cardinality(found_ids);
    end if;
    total_is_capped := total > max_counted;
    total := least(total, max_counted);
  end if;

  if filters = (sorted_filter <> '')::integer then
    execute format('select array(select s.id from public.submissions s where %s %s%s)', conditions, in_order,
      page) into submission_ids using after_value, after_id, hidden;
    return;
  end if;
  matches := private.filter_size(scope);
  -- The index of the order has these rows.
  walked.status := case when sort in ('created_at', 'votes') then status end;
  walked.author_id := case when sort = 'created_at' and status is null then author_id end;
  walked.category_id := case when sort = 'created_at' and num_nonnulls(status, author_id) = 0
    then category_id end;
  board := private.count_in_scope(walked, true);
  if q is not null then
    matches := case when total_is_capped then greatest(total, matches * p.text_share) else total end;
  end if;
  -- A walk with words looks up the words of each row.
  if found_ids is null
    and (skipped + wanted)::double precision * board * (case when q is null then 1 else 4 end)
      < matches * matches then
    execute format('select array(select s.id from (select * from public.submissions s
        where s.organization_id = %L and s.merged_into_id is null%s %s limit %s) s where %s %3$s%6$s)',
      own_id, sorted_filter || after, in_order, matches::bigint, concat_ws(' and ', conditions,
        case when tag_id is not null then '(select true from public.submission_tags m
          where m.submission_id = s.id and m.tag_id = $6)' end,
        case when q is not null then '(select m.lexemes operator(pg_catalog.@@) $4
          from private.submission_search m where m.submission_id = s.id)' end), page)
    into submission_ids using after_value, after_id, hidden, p.text_any, null, tag_id;
    if cardinality(submission_ids) = wanted then return; end if;
  end if;
  perform set_config('enable_sort', 'on', true);
  execute format('select array(select s.id from (select s.id, %s as place from %s where %s offset 0) s
      order by s.place %s, s.id %4$s%5$s)', key,
    case when found_ids is not null then 'unnest($5) l (id) join public.submissions s on s.id = l.id'
      -- The planner expects too many matches of rare words.
      when filters = 1 and q is not null or p.text_share * (scope.board).size <= 2000
        then '(select m.submission_id from private.submission_search m
            where m.lexemes operator(pg_catalog.@@) $4 offset 0) m
          cross join lateral (select * from public.submissions s where s.id = m.submission_id offset 0) s'
      when q is not null then 'private.submission_search m join public.submissions s
        on s.id = m.submission_id and m.lexemes operator(pg_catalog.@@) $4'
      else 'public.submissions s' end,
    conditions || private.tag_condition(scope), direction, page)
  into submission_ids using after_value, after_id, hidden, p.text_any, found_ids;
end
$$;

-- Escapes text for HTML.
create function private.escape_html(value text) returns text
language sql immutable
return replace(replace(replace(replace(replace(value, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"',
  '&quot;'), '''', '&#39;');

-- HTML-escaped text with <mark> around what matches the regular expression: the whole text, or 240
-- characters around the first match.
create function private.highlight(value text, marks text, whole boolean) returns text
language plpgsql immutable set search_path = pg_temp as $$
declare
  -- The result is as long as the text, so that positions are the same.
  plain text := translate(value,
    'ÀÁÂÃÄÅàáâãäåĀāĂăĄąÇçĆćČčĎďÈÉÊËèéêëĒēĘęĚěĞğÌÍÎÏìíîïĪīİıŁłÑñŃńŇňÒÓÔÕÖØòóôõöøŌōŐőŘř'
      'ŚśŞşŠšŤťÙÚÛÜùúûüŪūŮůŰűÝýÿŹźŻżŽžЁёς',
    'AAAAAAaaaaaaAaAaAaCcCcCcDdEEEEeeeeEeEeEeGgIIIIiiiiIiIiLlNnNnNnOOOOOOooooooOoOoRr'
      'SsSsSsTtUUUUuuuuUuUuUuYyyZzZzZzЕеσ');
  first integer := coalesce(regexp_instr(plain, marks, 1, 1, 0, 'i'), 0);
begin
  if not whole then
    -- A match begins at the start of a word.
    first := case when first < 41 then 1
      else first - 40 + length(substring(substr(plain, first - 40, 20) from '^\S*\s+|')) end;
    value := substr(value, first, 240);
    plain := substr(plain, first, 240);
  end if;
  if marks is null then return private.escape_html(value); end if;
  return (
    select string_agg(private.escape_html(substr(value, p.at, p.gap)) || coalesce('<mark>'
        || private.escape_html(substr(value, p.at + p.gap, p.hit)) || '</mark>', ''), '' order by p.n)
    from (
      select g.n, char_length(g.gap) as gap, char_length(h.hit[1]) as hit,
        1 + coalesce(sum(char_length(g.gap) + coalesce(char_length(h.hit[1]), 0))
          over (order by g.n rows between unbounded preceding and 1 preceding), 0)::integer as at
      from regexp_split_to_table(plain, marks, 'i') with ordinality g (gap, n)
        left join regexp_matches(plain, '(?:' || marks || ')', 'gi') with ordinality h (hit, n) using (n)) p);
end
$$;

-- At most 50 similar submissions that the caller can see with a similarity from 0 to 1, best first.
-- definer: reads private.submission_search.
create function private.similar_submissions(organization_id uuid, title text, description text)
  returns table (submission_id uuid, similarity real)
language plpgsql stable security definer set search_path = pg_temp set jit = off
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_mergejoin = off
  set enable_memoize = off rows 50 as $$
declare
  wanted constant text := private.plain_text(title);
  -- Quotes and hyphens are removed, because they have a meaning in a query.
  p constant private.parsed_search := private.parse_search(organization_id,
    regexp_replace(title, '["“”„«»-]+', ' ', 'g'));
  scope constant private.search_scope := private.search_scope(organization_id);
  candidates private.search_hit[];
begin
  if p.words is null then return; end if;
  select m.hits into candidates from private.partial_matches(scope, p, 50) m;
  return query
    select s.submission_id,
      greatest(extensions.similarity(s.title, wanted),
        0.8 * extensions.strict_word_similarity(wanted, s.content),
        case when description is not null
          then 0.9 * extensions.similarity(s.content, wanted || ' ' || private.plain_text(description))
          end)::real as score
    from unnest(candidates) c join private.submission_search s on s.submission_id = c.submission_id
    order by score desc;
end
$$;

-- For each of the newest submissions that are approved and not done, at most 12 similar ones among the newest
-- 600 and the 600 with the most votes. Each title is a set of trigrams. A trigram that many titles share is
-- looked up in only 40 of them, so that the work does not depend on the size of the board. definer: reads
-- private.submission_search.
create function private.similar_pairs(organization_id uuid, newest integer)
  returns table (one_id uuid, other_id uuid)
language plpgsql stable security definer
set search_path = pg_temp set enable_seqscan = off set plan_cache_mode = force_custom_plan rows 100 as $$
#variable_conflict use_column
declare own_id constant uuid := similar_pairs.organization_id;
begin
  return query
    with compared as materialized (
      select l.id, bool_or(l.n <= newest) as is_one from (
        (select s.id, row_number() over (order by s.created_at desc, s.id desc) as n
          from (select * from public.submissions s
            where s.organization_id = own_id and s.merged_into_id is null
            order by s.created_at desc, s.id desc limit 2000) s
          where s.moderation_state = 'approved' and s.status not in ('completed', 'declined')
          order by s.created_at desc, s.id desc limit 600)
        union all
        (select s.id, null from public.submissions s
          where s.organization_id = own_id and s.merged_into_id is null
          order by s.vote_count desc, s.id desc limit 600)) l
      group by l.id
    ), texts as materialized (
      select l.id, l.is_one is true as is_one, c.title, c.content
      from compared l cross join lateral (select c.title, c.content from private.submission_search c
        where c.submission_id = l.id offset 0) c
    ), trigrams as materialized (
      select t.trigram, c.id, c.is_one, row_number() over (partition by t.trigram order by c.id) as n
      from texts c cross join lateral unnest(extensions.show_trgm(c.title)) t (trigram)
    ), candidates as materialized (
      select r.one_id, r.other_id from (
        select o.id as one_id, t.id as other_id,
          row_number() over (partition by o.id order by count(*) desc, t.id) as n
        from (select t.trigram, t.id from trigrams t where t.is_one) o
        join (select t.trigram, t.id from trigrams t where t.is_one or t.n <= 40) t
          on t.trigram = o.trigram and t.id <> o.id
        group by o.id, t.id) r
      where r.n <= 12
    )
    select c.one_id, c.other_id
    from candidates c join texts o on o.id = c.one_id join texts t on t.id = c.other_id
    where extensions.similarity(o.title, t.title) >= 0.5
      or extensions.strict_word_similarity(o.title, t.content) >= 0.625
      or extensions.similarity(o.content, t.content) >= 0.556;
end
$$;

-- Statistics ------------------------------------------------------------------------------------------------

-- Counts the words of the organization that has changed most or waited longest since its last count; deletes
-- words that occur in no submission. Returns the number of organizations.
create function private.refresh_search() returns integer
language plpgsql set search_path = pg_temp as $$
#variable_conflict use_column
declare
  own_id uuid; size bigint; span record; sampled uuid[];
begin
  select c.organization_id, c.total into own_id, size
  from (select c.organization_id, sum(c.total)::bigint as total from private.submission_counts c group by 1) c
    left join private.search_statistics b on b.organization_id = c.organization_id
  where b.refreshed_at is null or b.refreshed_at < now() - interval '1 day'
    or abs(c.total - b.size) > greatest(b.size / 5, 500)
  order by b.refreshed_at nulls first limit 1;
  if own_id is null then return 0; end if;
  select min(s.created_at) as oldest, max(s.created_at) as newest into span
    from public.submissions s where s.organization_id = own_id;
  insert into private.search_statistics (organization_id, size, tiers, refreshed_at)
  select own_id, size, array(select coalesce(t.n, 0) from generate_series(0, 31) b left join (
      select length(ltrim(s.vote_count::bit(32)::text, '0')) as tier, count(*) as n
      from public.submissions s where s.organization_id = own_id and s.merged_into_id is null group by 1) t
      on t.tier = b order by b), now()
  on conflict (organization_id) do update set size = excluded.size, tiers = excluded.tiers,
    refreshed_at = excluded.refreshed_at;
  -- The sample covers the whole time: up to 20,000 submissions.
  sampled := array(select distinct l.id from generate_series(0, 99) n cross join lateral (
    select s.id from public.submissions s where s.organization_id = own_id and s.merged_into_id is null
      and (s.created_at, s.id)
        >= (span.oldest + (span.newest - span.oldest) * (n + random()) / 100, gen_random_uuid())
    order by s.created_at, s.id limit least(greatest(size / 500, 20), 200)) l);
  delete from private.search_frequencies f where f.organization_id = own_id;
  insert into private.search_frequencies (organization_id, lexeme, share)
  select own_id, substr(l.lexeme, 9), count(*)::real / cardinality(sampled)
  from private.submission_search c cross join lateral unnest(tsvector_to_array(c.lexemes)) l (lexeme)
  where c.submission_id = any (sampled)
  group by l.lexeme having count(*) > 2 and count(*)::real / cardinality(sampled) * size > 300;
  delete from private.search_words w where w.organization_id = own_id and not exists (
    select from private.submission_search c
    where c.lexemes @@ private.search_query(own_id, array[w.word])::tsquery);
  return 1;
end
$$;

-- Clients ---------------------------------------------------------------------------------------------------

create function public.search_submissions(q text, organization_id uuid, max_results integer default 20)
  returns table (id uuid, title text, description text, type text, status text, vote_count integer,
    comment_count integer, created_at timestamptz, relevance real, match text)
language plpgsql stable set search_path = pg_temp rows 20 as $$
#variable_conflict use_column
begin
  if coalesce(char_length(q), 0) not between 1 and 200 then
    perform private.raise_error('VALIDATION_ERROR', 'must be 1 to 200 characters long', 'q');
  elsif coalesce(max_results, 0) not between 1 and 100 then
    perform private.raise_error('VALIDATION_ERROR', 'must be a whole number from 1 to 100', 'max_results');
  end if;
  return query
    select s.id, s.title, s.description, s.type, s.status, s.vote_count, s.comment_count, s.created_at,
      h.relevance, f.match
    from private.find_submissions(search_submissions.organization_id, q, null, null, null, null, null, null,
        max_results) f
      cross join unnest(f.hits) with ordinality h (submission_id, class, votes, relevance, n)
      join public.submissions s on s.id = h.submission_id
    order by h.n;
end
$$;
comment on function public.search_submissions(text, uuid, integer) is
  'Submissions of an organization that match a query of 1 to 200 characters, best first: words, "phrases", '
  '-exclusions and OR. At most max_results, up to 100. match is any if none has all words. Errors: '
  'VALIDATION_ERROR.';

grant execute on function private.find_submissions(uuid, text, text, text, uuid, uuid, uuid,
    private.search_hit, integer, boolean),
  private.highlight(text, text, boolean), private.escape_html(text),
  private.similar_submissions(uuid, text, text),
  private.list_submissions(uuid, text, text, text, uuid, uuid, uuid, text, boolean, text, uuid, integer,
    integer) to anon, authenticated, service_key;
grant execute on function private.similar_pairs to authenticated;
grant execute on function public.search_submissions to anon, authenticated;

-- The search of release 0.1.0.
-- The functions of release 0.1.0 call these during an upgrade; to be dropped with the release after the next.
create function private.find_submissions(organization_id uuid, q text, status text, max_scanned integer,
  out submission_ids uuid[], out relevances real[], out is_complete boolean, out is_cut boolean)
language sql stable set search_path = pg_temp as $$
  select array(select (h).submission_id from unnest(f.hits) h),
    array(select (h).relevance from unnest(f.hits) h), cardinality(f.hits) < 101, false
  from private.find_submissions(organization_id, q, status, null, null, null, null, null, 101) f
$$;

-- The query of release 0.1.0.
create function private.search_query(q text) returns tsquery
language sql immutable set search_path = pg_temp
return plainto_tsquery('simple', q);

-- The highlights of release 0.1.0.
create function private.highlight(value text, q text, words tsquery, whole boolean) returns text
language sql immutable set search_path = pg_temp
return private.highlight(value,
  (select string_agg('\m' || w, '|') from unnest(private.split_words(q)) w), whole);

-- The filtered lists of release 0.1.0: the newest 5,000 matches.
create function private.candidate_submissions(organization_id uuid, status text, type text, category_id uuid,
  tag_id uuid, author_id uuid, q text, out submission_ids uuid[], out is_complete boolean, out is_few boolean)
language sql stable set search_path = pg_temp as $$
  select f.submission_ids, cardinality(f.submission_ids) < 5001, true
  from private.list_submissions(organization_id, q, status, type, category_id, tag_id, author_id,
    'created_at', false, null, null, 0, 5001) f
$$;

-- The walks of release 0.1.0, which sorts the candidates above instead.
create function private.submissions_with_text(submission_ids uuid[], q text) returns uuid[]
language sql immutable set search_path = pg_temp
return submission_ids;

-- The totals of release 0.1.0: null matches every status, type or category. definer: reads counters.
create function private.count_submissions(organization_id uuid, status text, type text, category_ids uuid[])
  returns bigint
language sql stable security definer set search_path = pg_temp
return private.count_in_scope(private.search_scope(organization_id, status, type,
  case when category_ids is not null
    then coalesce(category_ids[1], '00000000-0000-0000-0000-000000000000') end));
grant execute on function private.find_submissions(uuid, text, text, integer), private.search_query(text),
  private.highlight(text, text, tsquery, boolean),
  private.candidate_submissions(uuid, text, text, uuid, uuid, uuid, text),
  private.submissions_with_text(uuid[], text), private.count_submissions(uuid, text, text, uuid[])
  to anon, authenticated, service_key;
