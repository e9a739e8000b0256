-- Comments in plain words.

COMMENT ON FUNCTION "private"."admin_apply_import"(uuid) IS 'Imports the file of a completed dry run, which becomes the new import''s file. Raises CONFLICT for another import, GONE if the file is no longer stored.';

COMMENT ON FUNCTION "private"."admin_audit_choices"() IS 'Values of the filters of the current organization''s audit log: {time_zone, actions, actors}, at most 500 actors. For Admin.';

COMMENT ON FUNCTION "private"."admin_decide_trust"(uuid, boolean) IS 'Decides whether content of a person of the current organization needs no approval; null applies trust_after instead. Returns null if there is no such person.';

COMMENT ON FUNCTION "private"."admin_logo"(uuid) IS 'The current logo of an organization, to delete an uploaded one after a change. For Admin or keys with organization:write.';

COMMENT ON FUNCTION "private"."admin_merge_preview"(uuid[], uuid) IS 'The result that a merge would have, for Admin: counts of the target, notified followers, earlier merged submissions included, and added tags.';

COMMENT ON FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean) IS 'Approves, rejects, marks as spam or makes pending again (reopen) a submission or comment; repeating it is not an error. trust_author grants trust; spam revokes it; reopening spam deletes the decision.';

COMMENT ON FUNCTION "private"."admin_search_people"(text) IS 'At most 50 people of the current organization: with this complete e-mail address, otherwise with this text in their name (fewer than three letters match the beginning only); without a text, the most recent authors and voters.';

COMMENT ON FUNCTION "private"."are_mail_choices"(jsonb) IS 'A JSON object that maps kinds of mail to at_once, daily, weekly or never. team cannot be at_once; survey is at_once or never.';

COMMENT ON FUNCTION "private"."author_of_key"(text, text) IS 'Profile a key acts as: the e-mail author with this address, inserted if missing; without an address the profile of the key.';

COMMENT ON FUNCTION "private"."broadcast_moderation"() IS 'Trigger: broadcasts pending content and moderation decisions to the team of a board, with the state only.';

COMMENT ON FUNCTION "private"."claim_author"(uuid, uuid) IS 'Moves all rows of an e-mail author of an organization to the signed-in user with the same confirmed address, and leaves a nameless profile; for the bearer of a signed link. Returns the organization. Raises FORBIDDEN without that address, CONFLICT the second time.';

COMMENT ON FUNCTION "private"."claim_import"(uuid, text, boolean) IS 'Releases the previous import, or fails it with a problem. If takes is true, claims the oldest pending import, for ten seconds or until its next chunk, and returns the credential of its sender.';

COMMENT ON FUNCTION "private"."claim_mail"(uuid, uuid, uuid) IS 'Moves notifications, pending mail and mail preferences of an e-mail author to a user; the user''s own preferences take precedence.';

COMMENT ON FUNCTION "private"."claim_votes"(uuid, uuid, uuid) IS 'Moves votes of one profile to another, at most one for each submission. The caller holds the locks of the submissions.';

COMMENT ON FUNCTION "private"."count_added_comment_votes"() IS 'Trigger: increases vote_count of comments.';

COMMENT ON FUNCTION "private"."counts_of"(public.submissions) IS 'Current counts, included in each vote and comment broadcast.';

COMMENT ON FUNCTION "private"."delete_personal_rows"(uuid, uuid) IS 'Deletes rows that serve only the person, in one organization or in all, and the name from undelivered events.';

COMMENT ON FUNCTION "private"."finish_import"(uuid, text) IS 'Finishes an import; problem is the reason of a failure, or null. Deletes its file, except after a successful dry run.';

COMMENT ON FUNCTION "private"."offered_survey"(text) IS 'The newest published survey of the current organization that targets the caller and that they have not answered in any version, as {id, title}; null if there is none. For the widget.';

COMMENT ON FUNCTION "private"."open_claim"(uuid, uuid) IS 'JSON of the contributions that the bearer of a signed link may claim: {organization, submissions, comments, votes, is_signed_in, is_own_address: whether the caller''s confirmed address is the author''s}; null if the e-mail author no longer exists.';

COMMENT ON FUNCTION "private"."person_record"(uuid) IS 'Reference to a person in a record: the e-mail address, or the id if there is none.';

COMMENT ON FUNCTION "private"."person_shape"(public.profiles, uuid) IS 'JSON of a person for Admin of the organization: their numbers of contributions, role, whether they are trusted, and decided: the team''s decision about trust (null: none). For definer functions.';

COMMENT ON FUNCTION "private"."record_former_address"() IS 'Trigger: stores the hash of a former address, so that a user who changed it, was erased and signs up again with it is recognized.';

COMMENT ON FUNCTION "private"."retention"(text) IS 'Retention of a kind of row; all code that deletes such rows or reports their expiry reads it here. docs/data-model.md lists the kinds. Raises CASE_NOT_FOUND for an unknown kind.';

COMMENT ON FUNCTION "private"."sum_activity"(integer) IS 'Folds entries into days and returns how many. Reduces the rows that analytics reads; results do not change.';

COMMENT ON FUNCTION "private"."survey_page"(uuid, text, uuid) IS 'For the page of a survey: {refusal, locales, is_own_response}. If the caller may answer, refusal is null and the start is recorded; otherwise it is SURVEY_NOT_OPEN, LOCALE (the survey is limited to locales), UNAUTHORIZED (sign in first), ALREADY_RESPONDED or FORBIDDEN. is_own_response: response_id is a response of the caller. Raises NOT_FOUND if the caller does not see the survey.';

COMMENT ON FUNCTION "private"."voters_scope"() IS 'The scope a key needs to read voters, or respondents that would reveal voters. Users must be Admin.';

COMMENT ON TABLE "private"."author_trust" IS 'The team''s decisions about authors: trusted authors need no approval; the others always need it, regardless of earlier approvals.';

COMMENT ON TABLE "private"."imports" IS 'Imports and their progress. processed = created + skipped + failed; problem: the reason of a failure. A job has a query: its file is stored first and then written in steps with the credential that sent it. position: start of the next rows in the file; chunks_done: number of written chunks of these rows; claimed_until: lease of the schedule.';

COMMENT ON TABLE "private"."setup" IS 'Has a row once an organization was created: the setup is then closed forever, even if all organizations are deleted.';

COMMENT ON TABLE "public"."organizations" IS 'A tenant: one board of feedback, its surveys and its team. settings is free-form data of the team. brand_color and logo_url apply to its pages (null: defaults); a logo_url below /logos/ is the path of an uploaded image. default_locale: language of the pages for browsers without a supported language. allow_indexing: whether search engines may index the pages of a public board. mail_enabled: whether mail is sent; mail_defaults apply to people without their own preferences (73_mail.sql). anonymous_may: rights of anonymous users. Plan limits are null if unlimited.';

COMMENT ON TABLE "public"."profiles" IS 'Actors: a user, an e-mail author of one organization, an API key, an agent, or a profile without address (erased, or imported by name). The id of a user profile equals the auth user id. email is never granted to clients. locale: the language chosen for the pages, readable by the user only. is_anonymous: the user signed in anonymously (Supabase anonymous sign-ins).';
