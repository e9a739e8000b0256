-- Full-text search and similarity. Search data is kept outside of submissions, so that a vote stays a small
-- update.

create text search configuration private.plain (copy = pg_catalog.simple);
alter text search configuration private.plain
  alter mapping for asciiword, asciihword, hword_asciipart, word, hword, hword_part
  with extensions.unaccent, pg_catalog.simple;
comment on text search configuration private.plain is
  'Words without accents and case; one configuration for all locales.';

create table private.submission_search (
  submission_id uuid primary key references public.submissions (id) on delete cascade,
  organization_id uuid not null,
  document tsvector not null,
  title text not null,
  content text not null
);
comment on table private.submission_search is
  'Search data of submissions: document for full-text search; title and content (lowercase, without '
  'accents) for trigrams, which also serve languages without spaces.';
create index submission_search_document_idx on private.submission_search
  using gin (organization_id, document);
create index submission_search_title_idx on private.submission_search
  using gin (organization_id, title extensions.gin_trgm_ops);
create index submission_search_content_idx on private.submission_search
  using gin (organization_id, content extensions.gin_trgm_ops);
alter table private.submission_search enable row level security;

-- plpgsql, because unaccent is only stable and a SQL wrapper would not be inlined.
create function private.plain_text(value text) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return lower(extensions.unaccent('extensions.unaccent'::regdictionary, value));
end
$$;
comment on function private.plain_text(text) is 'Lowercase text without accents.';

-- definer: clients may not write to private.
create function private.index_submission() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into private.submission_search (submission_id, organization_id, document, title, content)
  values (new.id, new.organization_id,
    setweight(to_tsvector('private.plain', new.title), 'A') ||
      setweight(to_tsvector('private.plain', new.description), 'D'),
    private.plain_text(new.title), private.plain_text(new.title || ' ' || new.description))
  on conflict (submission_id) do update set
    document = excluded.document, title = excluded.title, content = excluded.content;
  return null;
end
$$;
comment on function private.index_submission() is 'Trigger: updates the search data of a submission.';
create trigger index_text after insert or update of title, description on public.submissions
  for each row execute function private.index_submission();

create function private.search_query(q text) returns tsquery
language plpgsql immutable set search_path = '' as $$
declare words tsquery;
begin
  -- Runs of hyphens would nest negations deeper than Postgres allows.
  words := websearch_to_tsquery('private.plain', regexp_replace(q, '-(\s*-)+', ' ', 'g'));
  if right(words::text, 1) = '''' then return (words::text || ':*')::tsquery; end if;
  return words;
exception when internal_error or syntax_error then
  return plainto_tsquery('private.plain', q);
end
$$;
comment on function private.search_query(text) is
  'Query with words, "phrases", -exclusions and OR. The last word matches as a prefix, for search as you '
  'type.';

create function private.like_pattern(q text) returns text
language sql immutable
return '%' || replace(replace(replace(private.plain_text(q), '\', '\\'), '%', '\%'), '_', '\_') || '%';
comment on function private.like_pattern(text) is
  'LIKE pattern that matches the text anywhere, with wildcards escaped.';

create function private.relevance(document tsvector, title text, content text, words tsquery, pattern text)
  returns real
language sql immutable
return (ts_rank(document, words) + case when title like pattern then 0.5 when content like pattern then 0.1
  else 0 end)::real;
comment on function private.relevance(tsvector, text, text, tsquery, text) is
  'Relevance of a submission for a query; higher is better.';

create function private.board_size(organization_id uuid) returns bigint
language sql stable security definer set search_path = '' -- definer: counters are not granted
return (select coalesce(sum(c.total), 0) from private.submission_counts c
  where c.organization_id = board_size.organization_id);
comment on function private.board_size(uuid) is
  'Number of listed submissions of an organization, regardless of visibility.';

create function private.indexed_submissions() returns double precision
-- definer: reads statistics of private.submission_search
language sql stable security definer set search_path = ''
return (select greatest(c.reltuples, 0) from pg_catalog.pg_class c
  where c.oid = 'private.submission_search'::regclass);
comment on function private.indexed_submissions() is
  'Estimated number of submissions of all organizations in the search indexes.';

-- The full-text index reads all entries of a word before it returns the first, so use it only for rare words.
-- The newest submissions serve as a sample to estimate word frequency; no counter for each word is needed.
-- definer: reads private.submission_search.
create function private.newest_texts(organization_id uuid, out documents tsvector[], out contents text[])
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
begin
  select array_agg(c.document), array_agg(c.content) into documents, contents
  from (select s.id from public.submissions s
      where s.organization_id = newest_texts.organization_id and s.merged_into_id is null
      order by s.created_at desc, s.id desc limit 200) s
    cross join lateral (select c.document, c.content from private.submission_search c
      where c.submission_id = s.id offset 0) c;
end
$$;
comment on function private.newest_texts(uuid) is
  'The newest 200 submissions of an organization in search form: the sample for word frequencies.';

-- A prefix of one or two letters matches too many words for the index, and an exclusion matches nearly all
-- rows.
create function private.indexed_words(words tsquery) returns tsquery
language plpgsql immutable set search_path = '' as $$
declare
  short_prefix constant text := '''[^'']{1,2}'':\*';
  positive constant text := regexp_replace(querytree(words), ' (&|<->) ' || short_prefix || '$', '');
begin
  if positive in ('', 'T') or positive ~ ('(^| )' || short_prefix) or numnode(words) > 60
    then return null; end if;
  return positive::tsquery;
end
$$;
comment on function private.indexed_words(tsquery) is
  'The part of a query to look up in the full-text index; the rest only filters. Null if no part is '
  'suitable.';

create function private.word_selectivity(words tsquery, documents tsvector[]) returns double precision
language sql immutable
return (
  select coalesce(sum(a.rarest), 0) from (
    select (
      select min((select count(*) from unnest(documents) d where d @@ lexeme[1]::tsquery))
      from regexp_matches(alternative, '''(?:[^'']|'''')+''(?::\*)?', 'g') lexeme) as rarest
    from regexp_split_to_table(words::text, ' \| ') alternative) a)::double precision
      / greatest(cardinality(documents), 1);
comment on function private.word_selectivity(tsquery, tsvector[]) is
  'Estimated share of index entries that a query reads: for each alternative, those of its rarest word.';

create function private.rarest_trigrams(plain text, contents text[], out patterns text[],
  out share double precision)
language sql immutable set search_path = '' as $$
  select (array_agg('%' || r.part || '%' order by r.n, r.part))[1:2],
    min(r.n)::double precision / greatest(cardinality(contents), 1)
  from (
    select t.part, (select count(*) from unnest(contents) content where position(t.part in content) > 0) as n
    from (select distinct substr(plain, n, 3) as part
      from generate_series(1, least(char_length(plain), 42) - 2) n) t
    where t.part ~ '^[[:alnum:]]{3}$') r
$$;
comment on function private.rarest_trigrams(text, text[]) is
  'The two rarest trigrams of a text as patterns, and the share of texts that contain the rarest. Null if '
  'the text has no trigram.';

-- Boards of up to 4,000 submissions are searched completely. On larger boards the indexes return up to 1,001
-- matches each, which is enough to know that there are more than 1,000. If the indexes are incomplete or a
-- word is too common for them, the newest and most voted submissions are searched. definer: reads
-- private.submission_search; the caller joins the ids with submissions, where policies apply.
create function private.find_submissions(organization_id uuid, q text, status text, max_scanned integer,
  out submission_ids uuid[], out relevances real[], out is_complete boolean, out is_cut boolean)
language plpgsql stable security definer
set search_path = '' set enable_seqscan = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  own_id constant uuid := find_submissions.organization_id;
  words constant tsquery := private.search_query(q);
  indexed constant tsquery := private.indexed_words(words);
  pattern constant text := private.like_pattern(q);
  size constant bigint := private.board_size(own_id);
  -- The indexes cover all organizations.
  everything constant double precision := greatest(private.indexed_submissions(), size);
  is_alone constant boolean := size * 2 > everything;
  max_matches constant integer := case when size <= 4000 then 4000 else 1001 end;
  asks_words boolean := false;
  asks_text boolean := false;
  rare_parts text[];
  at_newest integer;
begin
  if size > 500 then
    select numnode(words) = 0 or indexed is not null and private.word_selectivity(indexed, n.documents)
      * everything <= 150000,
      coalesce(t.share * size <= 5000 and t.share * everything <= 150000, false), t.patterns
    into asks_words, asks_text, rare_parts
    from private.newest_texts(own_id) n, private.rarest_trigrams(private.plain_text(q), n.contents) t;
  end if;
  at_newest := case when size <= 4000 then 4000 when asks_words then max_scanned / 4 else max_scanned end;
  with by_words as materialized (
    select c.submission_id, private.relevance(c.document, c.title, c.content, words, pattern) as relevance
    from private.submission_search c
    where asks_words and (is_alone or c.organization_id = own_id)
      and c.document operator(pg_catalog.@@) indexed
      and (c.organization_id = own_id and c.document operator(pg_catalog.@@) words) is true limit max_matches
  ), by_text as materialized (
    select c.submission_id, private.relevance(c.document, c.title, c.content, words, pattern) as relevance
    from private.submission_search c
    where asks_text and (is_alone or c.organization_id = own_id)
      and c.content operator(pg_catalog.~~) rare_parts[1]
      and c.content operator(pg_catalog.~~) coalesce(rare_parts[2], rare_parts[1])
      and (c.organization_id = own_id and c.content operator(pg_catalog.~~) pattern) is true limit max_matches
  ), told as materialized (
    select asks_words and asks_text and (size <= 4000
      or (select count(*) from by_words) < max_matches and (select count(*) from by_text) < max_matches)
        as everything
  ), newest as materialized (
    select s.id from public.submissions s
    where not (select everything from told) and s.organization_id = own_id and s.merged_into_id is null
      and (find_submissions.status is null or s.status = find_submissions.status)
    order by s.created_at desc, s.id desc limit at_newest
  ), top_voted as materialized (
    select s.id from public.submissions s
    where not (select everything from told) and size > 4000 and s.organization_id = own_id
      and s.merged_into_id is null
      and (find_submissions.status is null or s.status = find_submissions.status)
    order by s.vote_count desc, s.id desc limit at_newest
  ), found as (
    select * from by_words union select * from by_text
    union
    select l.id, c.relevance from (select id from newest union select id from top_voted) l
      cross join lateral (
        select private.relevance(c.document, c.title, c.content, words, pattern) as relevance
        from private.submission_search c
        where c.submission_id = l.id and
          (c.document operator(pg_catalog.@@) words or c.content operator(pg_catalog.~~) pattern)
        offset 0) c
  )
  select coalesce(array_agg(f.submission_id), '{}'), coalesce(array_agg(f.relevance), '{}'),
    (select everything from told) or size <= 4000 or (select count(*) from newest) < at_newest,
    size > 4000 and (not asks_words or (select count(*) from by_words) = max_matches
      or (select count(*) from by_text) = max_matches)
  into submission_ids, relevances, is_complete, is_cut from found f;
  is_cut := is_cut and not is_complete;
end
$$;
comment on function private.find_submissions(uuid, text, text, integer) is
  'Ids and relevance of submissions of an organization that match the words or contain the text. '
  'is_complete: all matches (with that status) are returned; otherwise matches of the indexes, of the '
  'newest max_scanned and of the most voted max_scanned submissions. is_cut: more matches exist.';

-- definer: reads private.submission_search.
create function private.submissions_with_text(submission_ids uuid[], q text) returns uuid[]
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
declare
  words constant tsquery := private.search_query(q);
  pattern constant text := private.like_pattern(q);
begin
  return array(
    select c.submission_id from unnest(submission_ids) l (id)
      cross join lateral (
        select c.submission_id from private.submission_search c
        where c.submission_id = l.id and
          (c.document operator(pg_catalog.@@) words or c.content operator(pg_catalog.~~) pattern)
        offset 0) c);
end
$$;
comment on function private.submissions_with_text(uuid[], text) is
  'Those of the given submissions that match the words or contain the text.';

-- A filtered list is read either by scanning the index of its sort order, which is fast if many rows match,
-- or by sorting the matches, which is fast if few match. A scan reads about page size × board size / matches
-- rows; both cost the same when the number of matches is the square root of 50 × board size. definer: reads
-- counters and private.submission_search; the caller joins the ids with submissions, where policies apply.
create function private.candidate_submissions(organization_id uuid, status text, type text, category_id uuid,
  tag_id uuid, author_id uuid, q text,
  out submission_ids uuid[], out is_complete boolean, out is_few boolean)
language plpgsql stable security definer
set search_path = '' set enable_seqscan = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  own_id constant uuid := candidate_submissions.organization_id;
  few constant double precision := least(sqrt(50 * private.board_size(own_id)), 2000);
  max_matches constant integer := 5000;
  max_texts constant integer := 1000;
  carry_tag boolean := tag_id is null;
begin
  if (status is not null or type is not null or category_id is not null) and coalesce((
    select sum(c.total) from private.submission_counts c
    where c.organization_id = own_id
      and (candidate_submissions.status is null or c.status = candidate_submissions.status)
      and (candidate_submissions.type is null or c.type = candidate_submissions.type)
      and (candidate_submissions.category_id is null or c.category_id = candidate_submissions.category_id)),
        0) <= few then
    submission_ids := array(
      select s.id from (
        select distinct c.status, c.type, c.category_id from private.submission_counts c
        where c.organization_id = own_id
          and (candidate_submissions.status is null or c.status = candidate_submissions.status)
          and (candidate_submissions.type is null or c.type = candidate_submissions.type)
          and (candidate_submissions.category_id
            is null or c.category_id = candidate_submissions.category_id)) k
        cross join lateral (
          select s.id from public.submissions s
          where s.organization_id = own_id and s.merged_into_id is null and s.status = k.status
            and s.type = k.type
            and s.category_id = k.category_id
          union all
          select s.id from public.submissions s
          where s.organization_id = own_id and s.merged_into_id is null and s.status = k.status
            and s.type = k.type
            and s.category_id is null and k.category_id is null) s);
    is_complete := true;
  elsif author_id is not null then
    submission_ids := array(select s.id from public.submissions s
      where s.author_id = candidate_submissions.author_id and s.organization_id = own_id
        limit max_matches + 1);
  elsif tag_id is not null then
    submission_ids := array(select st.submission_id from public.submission_tags st
      where st.organization_id = own_id and st.tag_id = candidate_submissions.tag_id limit max_matches + 1);
    carry_tag := true;
  end if;
  is_complete := coalesce(is_complete or cardinality(submission_ids) <= max_matches, false);
  -- With a second filter a scan may read many rows that only one of them matches.
  is_few := is_complete and (cardinality(submission_ids) <= few
    or num_nonnulls(status, type, category_id, tag_id, author_id) > 1);
  if not is_complete then submission_ids := submission_ids[1:1001]; end if;
  if q is not null and is_complete and cardinality(submission_ids) <= max_texts then
    submission_ids := private.submissions_with_text(submission_ids, q);
    is_few := true;
  elsif q is not null then
    select f.submission_ids, f.is_complete, not f.is_cut into submission_ids, is_complete, is_few
    from private.find_submissions(own_id, q, candidate_submissions.status, 500) f;
    carry_tag := tag_id is null;
  end if;
  if not carry_tag then
    submission_ids := array(
      select l.id from unnest(submission_ids) l (id) cross join lateral (
        select from public.submission_tags st
          where st.submission_id = l.id and st.tag_id = candidate_submissions.tag_id offset 0) st);
  end if;
end
$$;
comment on function private.candidate_submissions(uuid, text, text, uuid, uuid, uuid, text) is
  'Ids of a superset of the submissions that match the filters, if is_complete. is_few: sorting them is '
  'cheaper than scanning a sorted index.';

create function private.escape_html(value text) returns text
language sql immutable
return replace(replace(replace(replace(replace(value, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"',
  '&quot;'), '''', '&#39;');
comment on function private.escape_html(text) is 'Escapes text for HTML.';

create function private.highlight(value text, q text, words tsquery, whole boolean) returns text
language plpgsql immutable set search_path = '' as $$
declare
  marked text := ts_headline('private.plain', private.escape_html(value), words,
    'StartSel=<mark>, StopSel=</mark>, ' || case when whole then 'HighlightAll=true'
      else 'MaxWords=35, MinWords=15, ShortWord=0' end);
  found integer;
begin
  -- In languages without spaces a sentence is one word. There, and if no word matched, mark the literal text.
  if position('<mark>' in marked) > 0 and q !~ '[\u3040-\u30ff\u3400-\u9fff]' then return marked; end if;
  found := position(lower(q) in lower(value));
  if found = 0 then return marked; end if;
  return private.escape_html(case when whole then left(value, found - 1)
    else substr(value, greatest(1, found - 80), least(80, found - 1)) end)
    || '<mark>' || private.escape_html(substr(value, found, char_length(q))) || '</mark>'
    || private.escape_html(case when whole then substr(value, found + char_length(q))
      else substr(value, found + char_length(q), 120) end);
end
$$;
comment on function private.highlight(text, text, tsquery, boolean) is
  'HTML-escaped text with <mark> around matches: the whole text, or the fragment around the match. words is '
  'private.search_query(q), computed once for many texts.';

-- definer: reads private.submission_search.
create function private.rare_title_terms(organization_id uuid, title text, out words text[], out parts text[])
language plpgsql stable security definer set search_path = '' as $$
declare
  everything constant double precision := private.indexed_submissions();
  plain constant text := private.plain_text(title);
  documents tsvector[]; contents text[]; sampled integer;
begin
  select n.documents, n.contents, greatest(cardinality(n.documents), 1) into documents, contents, sampled
  from private.newest_texts(rare_title_terms.organization_id) n;
  words := array(
    select quote_literal(w.lexeme) from (
      select l.lexeme, (select count(*) from unnest(documents) d
        where d operator(pg_catalog.@@) quote_literal(l.lexeme)::tsquery) as n
      from unnest(to_tsvector('private.plain', rare_title_terms.title)) l
        where l.lexeme ~ '^[[:alnum:]]{4,}$' limit 30) w
    where w.n * everything / sampled <= 60000 order by w.n, w.lexeme limit 5);
  parts := array(
    select '%' || p.part || '%' from (
      select t.part, (select count(*) from unnest(contents) c where position(t.part in c) > 0) as n
      from (select distinct substr(plain, i, 3) as part
        from generate_series(1, least(char_length(plain), 62) - 2) i) t
      where t.part ~ '^[[:alnum:]]{3}$') p
    where p.n * everything / sampled <= 15000 order by p.n, p.part limit 8);
end
$$;
comment on function private.rare_title_terms(uuid, text) is
  'The rarest words and trigrams of a title as patterns, rarest first, without common ones.';

-- On a large board the candidates share the rarest words or trigrams with the title, as many words as
-- possible, or are new or have the most votes; their number is bounded. Candidates are compared like all
-- submissions of a small board. definer: reads private.submission_search.
create function private.similar_candidates(organization_id uuid, title text) returns uuid[]
language plpgsql stable security definer
set search_path = '' set enable_seqscan = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  own_id constant uuid := similar_candidates.organization_id;
  is_alone constant boolean := private.board_size(own_id) * 2 > private.indexed_submissions();
  wanted constant text := private.plain_text(similar_candidates.title);
  rare_words text[]; rare_parts text[]; some_words tsquery; part text; found uuid[];
begin
  select r.words, r.parts into rare_words, rare_parts
    from private.rare_title_terms(own_id, similar_candidates.title) r;
  found := array(
    select c.submission_id
    from (
      (select s.id from public.submissions s where s.organization_id = own_id and s.merged_into_id is null
        order by s.created_at desc, s.id desc limit 150)
      union
      (select s.id from public.submissions s where s.organization_id = own_id and s.merged_into_id is null
        order by s.vote_count desc, s.id desc limit 150)) l
      cross join lateral (select c.submission_id from private.submission_search c
        where c.submission_id = l.id and c.title operator(extensions.%) wanted offset 0) c
    limit 60);
  for n in reverse cardinality(rare_words)..1 loop
    exit when cardinality(found) >= 120;
    some_words := array_to_string(rare_words[1:n], ' & ')::tsquery;
    found := found || array(
      select c.submission_id from (
        select c.submission_id, c.title from private.submission_search c
        where (is_alone or c.organization_id = own_id) and c.document operator(pg_catalog.@@) some_words
          and (c.organization_id = own_id) is true limit 150) c
      order by extensions.similarity(c.title, wanted) desc limit 40);
  end loop;
  foreach part in array rare_parts loop
    exit when cardinality(found) >= 150;
    found := found || array(
      select c.submission_id from (
        select c.submission_id, c.title from private.submission_search c
        where (is_alone or c.organization_id = own_id) and c.title operator(pg_catalog.~~) part
          and (c.organization_id = own_id) is true limit 150) c
      order by extensions.similarity(c.title, wanted) desc limit 25);
  end loop;
  return found;
end
$$;
comment on function private.similar_candidates(uuid, text) is
  'At most 175 submissions of a large board that may be similar to the described one.';

-- definer: reads private.submission_search.
create function private.similar_submissions(organization_id uuid, title text, description text)
  returns table (submission_id uuid, similarity real)
language plpgsql stable security definer set search_path = '' rows 50 as $$
declare
  own_id constant uuid := similar_submissions.organization_id;
  wanted constant text := private.plain_text(title);
  candidates uuid[];
  words tsquery;
begin
  if private.board_size(own_id) > 4000 then
    candidates := private.similar_candidates(own_id, title);
  else
    words := (select string_agg(quote_literal(lexeme), ' | ')::tsquery
      from unnest(to_tsvector('private.plain', similar_submissions.title))
        where lexeme ~ '^[[:alnum:]]{4,}$');
    candidates := array(
      (select c.submission_id from private.submission_search c
        where c.organization_id = own_id and c.title operator(extensions.%) wanted limit 200)
      union
      (select c.submission_id from private.submission_search c
        where c.organization_id = own_id and c.document @@ words
        order by ts_rank(c.document, words) desc limit 50));
  end if;
  return query
    select s.submission_id,
      greatest(extensions.similarity(s.title, wanted),
        0.8 * extensions.strict_word_similarity(wanted, s.content),
        case when description is not null
          then 0.9 * extensions.similarity(s.content, wanted || ' ' || private.plain_text(description))
          end)::real as score
    from private.submission_search s where s.submission_id = any (candidates)
    order by score desc
    limit 50;
end
$$;
comment on function private.similar_submissions(uuid, text, text) is
  'At most 50 similar submissions with a similarity from 0 to 1, best first.';

-- Each title is a set of trigrams. A trigram that many titles have is looked up in 40 of them only, so that
-- the work does not depend on the size of the board. definer: reads private.submission_search.
create function private.similar_pairs(organization_id uuid, newest integer)
  returns table (one_id uuid, other_id uuid)
language plpgsql stable security definer
set search_path = '' set enable_seqscan = off set plan_cache_mode = force_custom_plan rows 100 as $$
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
comment on function private.similar_pairs(uuid, integer) is
  'For each of the newest submissions that are approved and not done at most 12 that look like it, among the '
  'newest 600 of these and the 600 with the most votes.';

revoke all on private.submission_search from public, anon, authenticated, service_role, service_key;
grant execute on function private.find_submissions(uuid, text, text, integer),
  private.highlight(text, text, tsquery, boolean), private.escape_html(text),
  private.similar_submissions(uuid, text, text), private.search_query(text),
  private.candidate_submissions(uuid, text, text, uuid, uuid, uuid, text),
    private.submissions_with_text(uuid[], text)
  to anon, authenticated, service_key;
grant execute on function private.similar_pairs(uuid, integer) to authenticated;
