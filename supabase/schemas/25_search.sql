-- Full text and similarity. What search needs stands apart from submissions, so that a vote stays a small update.

create text search configuration private.plain (copy = pg_catalog.simple);
alter text search configuration private.plain
  alter mapping for asciiword, asciihword, hword_asciipart, word, hword, hword_part
  with extensions.unaccent, pg_catalog.simple;
comment on text search configuration private.plain is 'Words as they are, without accents or case: one configuration for all locales.';

create table private.submission_search (
  submission_id uuid primary key references public.submissions (id) on delete cascade,
  organization_id uuid not null,
  document tsvector not null,
  title text not null,
  content text not null
);
comment on table private.submission_search is 'A submission as search sees it: document for words, title and content (no accents, lower case) for trigrams, which also serve languages written without spaces.';
create index submission_search_document_idx on private.submission_search using gin (organization_id, document);
create index submission_search_title_idx on private.submission_search using gin (organization_id, title extensions.gin_trgm_ops);
create index submission_search_content_idx on private.submission_search using gin (organization_id, content extensions.gin_trgm_ops);
alter table private.submission_search enable row level security;

-- plpgsql, for unaccent is only stable: SQL around it would not be inlined.
create function private.plain_text(value text) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return lower(extensions.unaccent('extensions.unaccent'::regdictionary, value));
end
$$;
comment on function private.plain_text(text) is 'Lower case, without accents.';

-- definer: clients may not write to private.
create function private.index_submission() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into private.submission_search (submission_id, organization_id, document, title, content)
  values (new.id, new.organization_id,
    setweight(to_tsvector('private.plain', new.title), 'A') || setweight(to_tsvector('private.plain', new.description), 'D'),
    private.plain_text(new.title), private.plain_text(new.title || ' ' || new.description))
  on conflict (submission_id) do update set
    document = excluded.document, title = excluded.title, content = excluded.content;
  return null;
end
$$;
comment on function private.index_submission() is 'Trigger: what is written can be found at once.';
create trigger index_text after insert or update of title, description on public.submissions
  for each row execute function private.index_submission();

create function private.search_query(q text) returns tsquery
language plpgsql immutable set search_path = '' as $$
declare words tsquery;
begin
  -- Runs of hyphens nest negations deeper than Postgres goes.
  words := websearch_to_tsquery('private.plain', regexp_replace(q, '-(\s*-)+', ' ', 'g'));
  if right(words::text, 1) = '''' then return (words::text || ':*')::tsquery; end if;
  return words;
exception when internal_error or syntax_error then
  return plainto_tsquery('private.plain', q);
end
$$;
comment on function private.search_query(text) is 'Words, "phrases", -exclusions and or; the last word matches as a prefix, so that results come while typing.';

create function private.like_pattern(q text) returns text
language sql immutable
return '%' || replace(replace(replace(private.plain_text(q), '\', '\\'), '%', '\%'), '_', '\_') || '%';
comment on function private.like_pattern(text) is 'A LIKE pattern that finds the text itself anywhere.';

-- definer: reads private.submission_search; the caller joins the ids with submissions, where policies apply.
create function private.find_submissions(organization_id uuid, q text) returns table (submission_id uuid, relevance real)
language plpgsql stable security definer set search_path = '' rows 200 as $$
declare words tsquery := private.search_query(q); pattern text := private.like_pattern(q);
begin
  return query
    select s.submission_id,
      (ts_rank(s.document, words) + case when s.title like pattern then 0.5 when s.content like pattern then 0.1 else 0 end)::real
    from private.submission_search s
    where s.organization_id = find_submissions.organization_id
      and (s.document @@ words or s.content operator(pg_catalog.~~) pattern);
end
$$;
comment on function private.find_submissions(uuid, text) is 'Ids and relevance of an organization''s submissions that hold the words or the text itself.';

create function private.escape_html(value text) returns text
language sql immutable
return replace(replace(replace(replace(replace(value, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;');
comment on function private.escape_html(text) is 'Text that is safe inside HTML.';

create function private.highlight(value text, q text, words tsquery, whole boolean) returns text
language plpgsql immutable set search_path = '' as $$
declare
  marked text := ts_headline('private.plain', private.escape_html(value), words,
    'StartSel=<mark>, StopSel=</mark>, ' || case when whole then 'HighlightAll=true' else 'MaxWords=35, MinWords=15, ShortWord=0' end);
  found integer;
begin
  -- In languages written without spaces a word is a whole sentence: there, and where no word matched, the text itself is marked.
  if position('<mark>' in marked) > 0 and q !~ '[\u3040-\u30ff\u3400-\u9fff]' then return marked; end if;
  found := position(lower(q) in lower(value));
  if found = 0 then return marked; end if;
  return private.escape_html(case when whole then left(value, found - 1) else substr(value, greatest(1, found - 80), least(80, found - 1)) end)
    || '<mark>' || private.escape_html(substr(value, found, char_length(q))) || '</mark>'
    || private.escape_html(case when whole then substr(value, found + char_length(q)) else substr(value, found + char_length(q), 120) end);
end
$$;
comment on function private.highlight(text, text, tsquery, boolean) is 'HTML-escaped text with <mark> around what was found; the whole text, or the part around the find. words is private.search_query(q), made once for many texts.';

-- definer: as above.
create function private.similar_submissions(organization_id uuid, title text, description text) returns table (submission_id uuid, similarity real)
language plpgsql stable security definer set search_path = '' rows 50 as $$
declare
  wanted text := private.plain_text(title);
  words tsquery := (select string_agg(quote_literal(lexeme), ' | ')::tsquery
    from unnest(to_tsvector('private.plain', similar_submissions.title)) where lexeme ~ '^[[:alnum:]]{4,}$');
begin
  return query
    select s.submission_id,
      greatest(extensions.similarity(s.title, wanted),
        0.8 * extensions.strict_word_similarity(wanted, s.content),
        case when description is not null then 0.9 * extensions.similarity(s.content, wanted || ' ' || private.plain_text(description)) end)::real as score
    from (
      (select c.* from private.submission_search c
        where c.organization_id = similar_submissions.organization_id and c.title operator(extensions.%) wanted limit 200)
      union
      (select c.* from private.submission_search c
        where c.organization_id = similar_submissions.organization_id and c.document @@ words
        order by ts_rank(c.document, words) desc limit 50)
    ) s
    order by score desc
    limit 50;
end
$$;
comment on function private.similar_submissions(uuid, text, text) is 'At most 50 submissions like the one described, with a similarity from 0 to 1, best first.';

revoke all on private.submission_search from public, anon, authenticated, service_role, service_key;
grant execute on function private.find_submissions(uuid, text),
  private.highlight(text, text, tsquery, boolean), private.escape_html(text),
  private.similar_submissions(uuid, text, text), private.search_query(text)
  to anon, authenticated, service_key;
