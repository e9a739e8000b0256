-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

-- The table holds a day of answers, and functions of the release before only write rows with a key and its organization.
ALTER TABLE "private"."idempotency_keys" DROP CONSTRAINT "idempotency_keys_pkey";

ALTER TABLE "private"."idempotency_keys" ADD COLUMN "profile_id" uuid;

-- squawk-ignore ban-drop-not-null
ALTER TABLE "private"."idempotency_keys" ALTER COLUMN "key_id" DROP NOT NULL;

-- squawk-ignore ban-drop-not-null
ALTER TABLE "private"."idempotency_keys" ALTER COLUMN "organization_id" DROP NOT NULL;

CREATE OR REPLACE FUNCTION private.board(organization_id uuid, locale text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return json_build_object(
    'counts', private.board_counts(board.organization_id),
    'categories', (select coalesce(json_agg(json_build_object('id', c.id, 'name',
        private.localized(c.name, c.translations, board.locale), 'slug', c.slug, 'color', c.color)
        order by c.position, c.slug), '[]')
      from public.categories c where c.organization_id = board.organization_id),
    'tags', (select coalesce(json_agg(json_build_object('name',
        private.localized(t.name, t.translations, board.locale), 'slug', t.slug) order by t.slug), '[]')
      from public.tags t where t.organization_id = board.organization_id));
end
$function$;

ALTER FUNCTION "private"."board"(uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.delete_personal_rows(profile_id uuid, organization_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  delete from public.notifications n
    where n.user_id = profile_id and
    (delete_personal_rows.organization_id
    is null or n.organization_id = delete_personal_rows.organization_id);
  delete from public.follows f where f.user_id = profile_id
    and (delete_personal_rows.organization_id
    is null or f.organization_id = delete_personal_rows.organization_id);
  -- Answers hold what was written.
  delete from private.idempotency_keys k where k.profile_id = delete_personal_rows.profile_id;
  -- Keep a mark as spam while the account exists: users must not remove it themselves.
  delete from private.author_trust t
  where t.user_id = profile_id and
    (delete_personal_rows.organization_id is null or t.organization_id = delete_personal_rows.organization_id
    and t.is_trusted);
  delete from private.invites i using public.profiles p
  where p.id = profile_id and (i.accepted_by = p.id or i.email = lower(p.email))
    and (delete_personal_rows.organization_id
      is null or i.organization_id = delete_personal_rows.organization_id);
  update private.outbox o set data =
    jsonb_set(o.data, '{comment,author}', '{"id": null, "name": "Anonymous"}')
  where o.type = 'comment.created' and o.subject_id in (
    select c.id from public.comments c where c.author_id = profile_id
      and (delete_personal_rows.organization_id
        is null or c.organization_id = delete_personal_rows.organization_id));
end
$function$;

CREATE OR REPLACE FUNCTION private.find_idempotent_response(key text, request bytea)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  earlier private.idempotency_keys;
  own_id uuid := case when private.is_key()
    then nullif(current_setting('feedback.key_id', true), '')::uuid end;
  person_id uuid := case when not private.is_key() then private.caller_id() end;
begin
  insert into private.idempotency_keys as k (organization_id, key_id, profile_id, key, request)
  values (private.key_organization_id(), own_id, person_id, find_idempotent_response.key,
    find_idempotent_response.request)
  on conflict do nothing;
  if found then return null; end if;
  select * into earlier from private.idempotency_keys k
    where (k.key_id = own_id or k.profile_id = person_id) and k.key = find_idempotent_response.key;
  if earlier.request is distinct from find_idempotent_response.request then
    perform private.raise_error('CONFLICT', 'This Idempotency-Key was used for another request.',
      'Idempotency-Key');
  end if;
  return earlier.answer;
end
$function$;

CREATE OR REPLACE FUNCTION private.save_idempotent_response(key text, answer text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update private.idempotency_keys k set answer = save_idempotent_response.answer
  where case when private.is_key() then k.key_id = nullif(current_setting('feedback.key_id', true), '')::uuid
      else k.profile_id = private.caller_id() end
    and k.key = save_idempotent_response.key;
end
$function$;

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint
ALTER TABLE "private"."idempotency_keys" ADD CONSTRAINT "idempotency_keys_are_of_keys" UNIQUE (key_id, key);

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint
ALTER TABLE "private"."idempotency_keys" ADD CONSTRAINT "idempotency_keys_are_of_people" UNIQUE (profile_id, key);

-- squawk-ignore constraint-missing-not-valid, adding-foreign-key-constraint
ALTER TABLE "private"."idempotency_keys" ADD CONSTRAINT "idempotency_keys_profile_id_fkey" FOREIGN KEY (profile_id) REFERENCES public.profiles(id) ON DELETE CASCADE;

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "private"."idempotency_keys" ADD CONSTRAINT "is_of_a_key_or_a_person" CHECK ((num_nonnulls(key_id, profile_id) = 1));

COMMENT ON FUNCTION "private"."board"(uuid, text) IS 'What the board and the roadmap show around their lists, in one statement: {counts, categories, tags}, as the caller sees them, named in a language. counts are of private.board_counts.';

COMMENT ON FUNCTION "private"."find_idempotent_response"(text, bytea) IS 'Returns the stored response for the key and the same request of the caller; null the first time. Raises CONFLICT for another request. Waits for a concurrent first request.';

COMMENT ON TABLE "private"."idempotency_keys" IS 'Responses to POST requests with an Idempotency-Key, by a key, or to a form with an id, by a person; kept for a day. request is the SHA-256 of route, path, query and body.';

REVOKE ALL ON FUNCTION "private"."board"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."board"(uuid, text) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."board"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."board"(uuid, text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."board"(uuid, text) TO "service_key";

REVOKE ALL ON FUNCTION "private"."find_idempotent_response"(text, bytea) FROM "authenticated";

GRANT EXECUTE ON FUNCTION "private"."find_idempotent_response"(text, bytea) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."save_idempotent_response"(text, text) FROM "authenticated";

GRANT EXECUTE ON FUNCTION "private"."save_idempotent_response"(text, text) TO "authenticated";
